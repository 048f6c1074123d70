"""What is to be known of a request once it is answered: for logs and metrics. It holds no text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from suffice.record.record import new_id
from suffice.types import GateDecision, Verdict


@dataclass(slots=True)
class Seen:
    """Filled while the request is served; whoever watches is given it at its end. `began` is by
    `time.perf_counter`; `timings` are seconds by stage."""

    path: str
    began: float
    id: str = field(default_factory=new_id)
    caller: str = ""
    route: str = ""
    status: int = 200
    stream: bool = False
    tokens: int = 0
    verdicts: list[Verdict] = field(default_factory=list)
    gates: list[GateDecision] = field(default_factory=list)
    """Where a gate was asked and there is no verdict."""
    timings: Mapping[str, float] = field(default_factory=dict)
    upstream: str = ""
    """How a call to the upstream failed, where it did."""


Watch = Callable[[Seen], None]
