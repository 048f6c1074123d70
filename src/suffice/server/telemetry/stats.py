"""Statistics of a request for logs, metrics and spans. The only texts in them are those of
verdicts, which are logged only if `server.log_text` is set."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from suffice.access.quotas import Left
from suffice.log.record import new_id
from suffice.log.trace import added_up
from suffice.types import GateDecision, Verdict


@dataclass(slots=True)
class RequestStats:
    """Filled while the request is served and passed to the listeners when it ends. `began` is a
    `time.perf_counter` value, `timings` the seconds by stage, and `seconds` the total."""

    path: str
    began: float
    id: str = field(default_factory=new_id)
    caller: str = ""
    team: str = ""
    user: str = ""
    """The user on whose behalf the caller asks: plain, masked or a pseudonym (`record_user`)."""
    route: str = ""
    status: int = 200
    stream: bool = False
    received: int = 0
    """The size of the request body, in bytes."""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    left: tuple[Left, ...] = ()
    """What was left of the caller's limits when the request was admitted."""
    verdicts: list[Verdict] = field(default_factory=list)
    gates: list[GateDecision] = field(default_factory=list)
    """Gate decisions without a verdict."""
    timings: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    cache: str = ""
    """`hit` or `miss` if the verdict cache was used."""
    model: str = ""
    """The model of the last upstream call; empty if there was none."""
    upstream: list[str] = field(default_factory=list)
    """The kind of each failed upstream call, even if the request succeeded in the end."""

    fallbacks: list[str] = field(default_factory=list)
    """The names of failed upstreams after which the next one was tried."""

    def end(self) -> None:
        """Mark the request as ended."""
        self.timings = dict(self.timings)  # a check that outlives the request may still add to it
        self.seconds = time.perf_counter() - self.began

    @property
    def stages(self) -> dict[str, float]:
        """Seconds by stage, with `other` and `total`; empty for a request without stages."""
        return added_up(dict(self.timings), self.seconds) if self.timings else {}

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


CURRENT_STATS: ContextVar[RequestStats | None] = ContextVar("request_stats", default=None)
"""The current request, including in the tasks and threads it starts."""
FIELDS, TEXTS = "suffice", "suffice_texts"
"""Attributes of a log record: extra fields, and extra fields that contain texts."""
StatsListener = Callable[[RequestStats], None]


def upstream_failed(kind: str) -> None:
    """Add the kind of a failed upstream call to the current request."""
    if (stats := CURRENT_STATS.get()) is not None:
        stats.upstream.append(kind)


def fell_back(upstream: str) -> None:
    """Record that the current request fell back from this upstream to the next."""
    if (stats := CURRENT_STATS.get()) is not None:
        stats.fallbacks.append(upstream)
