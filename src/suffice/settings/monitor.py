"""Settings of the monitor: alarms, the guarantee, deep checks, the weekly sample and e-mail."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from suffice.settings.checked import Checked
from suffice.settings.limits import Range, Share, setting

Days = Annotated[int, Range(1, 1_000)]


@dataclass(frozen=True, slots=True)
class MailSettings(Checked):
    """E-mail for alarms and for a suspended guarantee."""

    host: str = setting("", "SMTP server. Empty: no e-mail.")
    port: Annotated[int, Range(1, 65_535)] = setting(587, "Port of the SMTP server.")
    security: Literal["starttls", "tls", "none"] = setting(
        "starttls",
        "How the connection is encrypted: after STARTTLS, from the start (often port 465), or not. "
        "A server that does not offer it gets no message.",
    )
    ca_file: str = setting(
        "",
        "PEM file with the certificate of the server or of its authority. Empty: the authorities "
        "that this machine trusts.",
    )
    user: str = setting("", "User name at the SMTP server. Empty: no login.")
    password_env: str = setting("", "Environment variable that holds the password.")
    sender: str = setting("", "Sender address.")
    to: tuple[str, ...] = setting((), "Addresses that receive the e-mail.")
    timeout: Annotated[float, Range(0.1, 300)] = setting(
        10.0, "Seconds the SMTP server has to answer."
    )


@dataclass(frozen=True, slots=True)
class MonitorSettings(Checked):
    """What is watched, and when an alarm is raised."""

    enabled: bool = setting(True, "Monitor in the background of the gateway.")
    every_seconds: Annotated[float, Range(0.1, 86_400)] = setting(
        15.0, "Seconds between two looks at the log."
    )
    level: Annotated[float, Range(1e-6, 0.5)] = setting(
        0.01, "Probability of a false alarm of each test, however often it is looked at."
    )
    window_days: Days = setting(7, "Days over which a metric is averaged.")
    baseline_days: Days = setting(28, "Days before the window that it is compared with.")
    faithfulness_drop: Share = setting(
        0.05, "Drop of the mean faithfulness from which an alarm is raised."
    )
    fact_score_drop: Share = setting(
        0.05, "Drop of the mean fact score from which an alarm is raised."
    )
    withhold_ratio: Annotated[float, Range(1, 1_000)] = setting(
        2.0, "Multiple of the baseline's withhold rate from which an alarm is raised."
    )
    deep_share: Share = setting(
        0.1,
        "Share of drafted answers that are checked again in the background, by the strongest "
        "verifier at hand.",
    )
    weekly_served: Annotated[int, Range(0, 100_000)] = setting(
        10,
        "Served answers that are sent for review each week, at random. With "
        "`record.review_sample`, none: those are sampled already.",
    )
    weekly_withheld: Annotated[int, Range(0, 100_000)] = setting(
        10, "Withheld answers that are sent for review each week, at random."
    )
    mail: MailSettings = field(default_factory=MailSettings)
