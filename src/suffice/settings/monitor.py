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
    user: str = setting("", "User name for the SMTP server. Empty: no login.")
    password_env: str = setting("", "Environment variable that holds the password.")
    sender: str = setting("", "Sender address.")
    to: tuple[str, ...] = setting((), "Addresses that receive the e-mail.")
    timeout: Annotated[float, Range(0.1, 300)] = setting(
        10.0, "Seconds to wait for the SMTP server."
    )


@dataclass(frozen=True, slots=True)
class MonitorSettings(Checked):
    """What is monitored, and when an alarm is raised."""

    enabled: bool = setting(True, "Run the monitor in the background of the gateway.")
    every_seconds: Annotated[float, Range(0.1, 86_400)] = setting(
        15.0, "Seconds between reads of the log."
    )
    level: Annotated[float, Range(1e-6, 0.5)] = setting(
        0.01, "Probability that a test ever raises a false alarm, however often it is evaluated."
    )
    window_days: Days = setting(7, "Days over which a metric is averaged.")
    baseline_days: Days = setting(28, "Days before that window, used as the baseline.")
    faithfulness_drop: Share = setting(
        0.05, "Drop in mean faithfulness above which an alarm may be raised."
    )
    fact_score_drop: Share = setting(
        0.05, "Drop in mean fact score above which an alarm may be raised."
    )
    withhold_ratio: Annotated[float, Range(1, 1_000)] = setting(
        2.0, "Multiple of the baseline withhold rate above which an alarm may be raised."
    )
    deep_share: Share = setting(
        0.1,
        "Share of drafted answers that the strongest available verifier checks again in the "
        "background.",
    )
    weekly_served: Annotated[int, Range(0, 100_000)] = setting(
        10,
        "Number of random served answers sent for review each week. None if "
        "`record.review_sample` already samples them.",
    )
    weekly_withheld: Annotated[int, Range(0, 100_000)] = setting(
        10, "Number of random withheld answers sent for review each week."
    )
    mail: MailSettings = field(default_factory=MailSettings)
