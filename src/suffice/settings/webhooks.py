"""Settings of webhooks: where events are sent, which ones, and how often a delivery is tried."""

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
"""What a webhook can subscribe to. A name without a full stop stands for all of its kind."""


@dataclass(frozen=True, slots=True)
class WebhookSettings(Checked):
    """A webhook of the gateway. Events are read from the log, so they need `record.enabled`."""

    url: str = setting("", "URL that receives the events by POST.")
    events: tuple[str, ...] = setting(
        ("verdict", "gap", "review"),
        "Events to send: `verdict`, `gap`, `review`, `feedback`, `alarm`, `guarantee`, or one of a "
        "kind such as `verdict.withhold`, `review.queued` or `alarm.raised`.",
    )
    secret_env: str = setting(
        "", "Environment variable that holds the signing secret. Empty: events are not signed."
    )
    text: Literal["none", "released", "all"] = setting(
        "released",
        "Texts in a payload. `none`: ids, verdicts and scores only. `released`: also the question "
        "and what was released. `all`: also reasons and drafts that were withheld.",
    )
    attempts: Annotated[int, Range(1, 100)] = setting(
        10, "Attempts after which a delivery is given up and kept for `suffice webhooks retry`."
    )
    backoff_seconds: Annotated[float, Range(0.01, 3600)] = setting(
        5.0, "Wait after the first failed attempt; it doubles each time, up to an hour, at random."
    )
    timeout: Annotated[float, Range(0.1, 300)] = setting(
        10.0, "Seconds the receiver has to answer."
    )

    def __post_init__(self) -> None:
        Checked.__post_init__(self)
        for event in self.events:
            if event not in EVENTS:
                raise bad_value("WebhookSettings", "events", event, ", ".join(EVENTS))

    def wants(self, event: str) -> bool:
        return event in self.events or event.partition(".")[0] in self.events
