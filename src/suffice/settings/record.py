"""Settings of the log, the webhooks and the monitor."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from msgspec import Meta

from suffice.settings.checked import Checked, Share, bad_value, setting


@dataclass(frozen=True, slots=True)
class SignSettings(Checked):
    """Signed checkpoints of the log, and where they are written."""

    key_file: str = setting("", "File that holds the private signing key. Empty: no checkpoints.")
    destinations: tuple[str, ...] = setting(
        (), "Where checkpoints are written: files, URLs or other stores."
    )
    every_records: Annotated[int, Meta(ge=0, le=1_000_000_000)] = setting(
        1_000, "Write a checkpoint after this many records. 0: no record limit."
    )
    every_minutes: Annotated[float, Meta(ge=0, le=1_000_000)] = setting(
        60.0, "Write a checkpoint after this many minutes. 0: no time limit."
    )


@dataclass(frozen=True, slots=True)
class RecordSettings(Checked):
    """What is recorded for each decision."""

    enabled: Literal["auto", "always", "never"] = setting(
        "auto",
        "When to record decisions. `auto`: if there is a store, but not for a folder that is "
        "only read (`--docs`).",
    )
    durability: Literal["committed", "queued"] = setting(
        "committed",
        "`committed`: an answer is released once its record is stored. `queued`: the answer "
        "does not wait, and a crash loses the queued records.",
    )
    omit_fields: tuple[str, ...] = setting(
        (), "Fields that are not stored. The record keeps a hash commitment to each."
    )
    mask_emails: bool = setting(True, "Mask e-mail addresses before a record is written.")
    mask_phones: bool = setting(True, "Mask phone numbers before a record is written.")
    mask_cards: bool = setting(True, "Mask card numbers before a record is written.")
    mask_patterns: tuple[str, ...] = setting(
        (), "Regular expressions whose matches are masked before a record is written."
    )
    retention_days: Annotated[int, Meta(ge=0, le=100_000)] = setting(
        0, "Days after which `suffice audit retain` erases the contents of records. 0: never."
    )
    review_sample: Share = setting(
        0.0, "Random share of served answers that is sent to a person for review."
    )
    review_borderline: Share = setting(
        0.02, "Decisions with a gate score this close to the threshold are always sent for review."
    )
    checkpoint: SignSettings = field(default_factory=SignSettings)


EVENTS = (
    "verdict",
    "verdict.serve",
    "verdict.caveat",
    "verdict.conflict",
    "verdict.withhold",
    "verdict.review",
    "gap",
    "review",
    "review.queued",
    "review.release",
    "review.correct",
    "review.withdraw",
    "review.open",
    "review.confirm",
    "review.dismiss",
    "feedback",
    "feedback.up",
    "feedback.down",
    "alarm",
    "alarm.raised",
    "alarm.cleared",
    "guarantee",
    "guarantee.active",
    "guarantee.suspended",
)
"""The events a webhook can subscribe to. A name without a dot stands for all of its events."""


@dataclass(frozen=True, slots=True)
class WebhookSettings(Checked):
    """A webhook of the gateway. Events are read from the log, so they need `record.enabled`."""

    url: str = setting("", "URL that receives the events as POST requests.")
    events: tuple[str, ...] = setting(
        ("verdict", "gap", "review"),
        "Events to send: `verdict`, `gap`, `review`, `feedback`, `alarm`, `guarantee`, or a "
        "specific event such as `verdict.withhold`, `review.queued` or `alarm.raised`.",
    )
    secret_env: str = setting(
        "", "Environment variable that holds the signing secret. Empty: events are not signed."
    )
    text: Literal["none", "released", "all"] = setting(
        "released",
        "Texts in a payload. `none`: only ids, verdicts and scores. `released`: also the "
        "question and the released answer. `all`: also reasons, withheld drafts, comments and "
        "reviewers' words.",
    )
    attempts: Annotated[int, Meta(ge=1, le=100)] = setting(
        10, "Number of attempts, after which a delivery is kept for `suffice webhooks retry`."
    )
    backoff_seconds: Annotated[float, Meta(ge=0.01, le=3600)] = setting(
        5.0,
        "Seconds to wait after the first failed attempt. The wait doubles each time, up to an "
        "hour, with random jitter.",
    )
    timeout: Annotated[float, Meta(ge=0.1, le=300)] = setting(
        10.0, "Seconds to wait for the receiver."
    )

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        for event in self.events:
            if event not in EVENTS:
                raise bad_value("WebhookSettings", "events", event, ", ".join(EVENTS))

    def wants(self, event: str) -> bool:
        return event in self.events or event.partition(".")[0] in self.events


Days = Annotated[int, Meta(ge=1, le=1_000)]


@dataclass(frozen=True, slots=True)
class MailSettings(Checked):
    """E-mail for alarms and for a suspended guarantee."""

    host: str = setting("", "SMTP server. Empty: no e-mail.")
    port: Annotated[int, Meta(ge=1, le=65_535)] = setting(587, "Port of the SMTP server.")
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
    timeout: Annotated[float, Meta(ge=0.1, le=300)] = setting(
        10.0, "Seconds to wait for the SMTP server."
    )


@dataclass(frozen=True, slots=True)
class MonitorSettings(Checked):
    """What is monitored, and when an alarm is raised."""

    enabled: bool = setting(True, "Run the monitor in the background of the gateway.")
    every_seconds: Annotated[float, Meta(ge=0.1, le=86_400)] = setting(
        15.0, "Seconds between reads of the log."
    )
    level: Annotated[float, Meta(ge=1e-6, le=0.5)] = setting(
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
    withhold_ratio: Annotated[float, Meta(ge=1, le=1_000)] = setting(
        2.0, "Multiple of the baseline withhold rate above which an alarm may be raised."
    )
    deep_share: Share = setting(
        0.1,
        "Share of drafted answers that the strongest available verifier checks again in the "
        "background.",
    )
    weekly_served: Annotated[int, Meta(ge=0, le=100_000)] = setting(
        10,
        "Number of random served answers sent for review each week. None if "
        "`record.review_sample` already samples them.",
    )
    weekly_withheld: Annotated[int, Meta(ge=0, le=100_000)] = setting(
        10, "Number of random withheld answers sent for review each week."
    )
    mail: MailSettings = field(default_factory=MailSettings)
