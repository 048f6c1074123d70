"""Settings of webhooks: where events are sent, which events, and how often delivery is tried."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from suffice.settings.checked import Checked, bad_value
from suffice.settings.limits import Range, setting

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
    attempts: Annotated[int, Range(1, 100)] = setting(
        10, "Number of attempts, after which a delivery is kept for `suffice webhooks retry`."
    )
    backoff_seconds: Annotated[float, Range(0.01, 3600)] = setting(
        5.0,
        "Seconds to wait after the first failed attempt. The wait doubles each time, up to an "
        "hour, with random jitter.",
    )
    timeout: Annotated[float, Range(0.1, 300)] = setting(10.0, "Seconds to wait for the receiver.")

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        for event in self.events:
            if event not in EVENTS:
                raise bad_value("WebhookSettings", "events", event, ", ".join(EVENTS))

    def wants(self, event: str) -> bool:
        return event in self.events or event.partition(".")[0] in self.events
