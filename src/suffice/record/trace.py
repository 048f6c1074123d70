"""How a decision came about: what a record holds beside the decision itself."""

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
    """`found` is what the search gave, before the gate weighed it; `when` the time it was asked
    for, `day` the day it was asked; `earlier` what was served in the turns before."""

    found: Evidence
    when: When = NOW
    day: date | None = None
    earlier: tuple[Retrieved, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    """Seconds a stage took, in the order of the stages."""


@dataclass(slots=True)
class Timings:
    """Seconds by stage, over one trip; a stage that is entered again counts on."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def lap(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.seconds[stage] = self.seconds.get(stage, 0.0) + spent

    def timing(self, stage: str, work: Callable[P, T]) -> Callable[P, T]:
        """The same work, timed."""

        def timed(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.lap(stage):
                return work(*args, **kwargs)

        return timed

    @property
    def timings(self) -> tuple[tuple[str, float], ...]:
        return tuple((stage, round(spent, 6)) for stage, spent in self.seconds.items())
