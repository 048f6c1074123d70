"""How a decision was made: inputs and timings that a record holds besides the decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import ParamSpec, TypeVar

from suffice.text.times import NOW, When
from suffice.types import Evidence, Retrieved

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trace:
    """`found` is the search result before the gate; `when` is the time the question refers to,
    `day` the day it was asked; `earlier` is evidence served in earlier turns."""

    found: Evidence
    when: When = NOW
    day: date | None = None
    earlier: tuple[Retrieved, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    """Seconds per stage, in order."""


@dataclass(slots=True)
class Timings:
    """Seconds per stage of one request; repeated stages add up."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent

    def measured(self, stage: str, work: Callable[P, T]) -> Callable[P, T]:
        """Wrap a function so that its time counts towards the stage."""

        def timed(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.measure(stage):
                return work(*args, **kwargs)

        return timed

    @property
    def stages(self) -> tuple[tuple[str, float], ...]:
        return tuple((stage, round(spent, 6)) for stage, spent in self.seconds.items())
