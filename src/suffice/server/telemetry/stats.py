"""What is to be known of a request once it is answered: for logs, metrics and spans. It holds no
text but that of verdicts, which only a log that is asked to tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from suffice.log.record import new_id
from suffice.types import GateDecision, Verdict


@dataclass(slots=True)
class RequestStats:
    """Filled while the request is served; whoever watches is given it at its end. `began` is by
    `time.perf_counter`; `timings` are seconds by stage."""

    path: str
    began: float
    id: str = field(default_factory=new_id)
    caller: str = ""
    route: str = ""
    status: int = 200
    stream: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    verdicts: list[Verdict] = field(default_factory=list)
    gates: list[GateDecision] = field(default_factory=list)
    """Where a gate was asked and there is no verdict."""
    timings: Mapping[str, float] = field(default_factory=dict)
    model: str = ""
    """The one that an upstream was asked for last; empty: none was asked."""
    upstream: list[str] = field(default_factory=list)
    """How calls to an upstream failed, each try by its kind; also where a later try went well, or
    quotations stood in for it."""

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out


NOW: ContextVar[RequestStats | None] = ContextVar("seen", default=None)
"""The request that is being served here, also in the tasks and threads it starts."""
StatsListener = Callable[[RequestStats], None]


def upstream_failed(kind: str) -> None:
    """Notes on the request that is served how a call made for it failed."""
    if (stats := NOW.get()) is not None:
        stats.upstream.append(kind)
