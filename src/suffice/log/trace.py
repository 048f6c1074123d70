"""The inputs and timings that a record holds in addition to the decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from threading import Lock
from typing import ParamSpec, TypeVar

from suffice.text.when import NOW, When
from suffice.types import Evidence, Retrieved

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trace:
    """`found` is the search result before the gate, `when` the time the question refers to, `day`
    the day it was asked, and `earlier` the evidence served in earlier turns."""

    found: Evidence
    when: When = NOW
    day: date | None = None
    earlier: tuple[Retrieved, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()
    """Seconds per stage, in order; then `other` and `total`."""


OTHER, TOTAL = "other", "total"
"""The time outside all stages, and the total time."""


@dataclass(slots=True)
class Timings:
    """Seconds per stage of one request; repeated stages add up. If stages overlap, time counts only
    for the stage that began last, so all stages and `other` sum to `total`."""

    clock: Callable[[], float] = time.perf_counter
    seconds: dict[str, float] = field(default_factory=dict)
    _active: list[str] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)
    _began: float = field(init=False)
    _last: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self._last = self.clock()

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        with self._lock:
            self._count()
            self._active.append(stage)
            self.seconds.setdefault(stage, 0.0)
        try:
            yield
        finally:
            with self._lock:
                self._count()
                self._active.remove(stage)

    def _count(self) -> None:
        """Add the time since the last change to the current stage."""
        now = self.clock()
        if self._active:
            self.seconds[self._active[-1]] += now - self._last
        self._last = now

    def measured(self, stage: str, work: Callable[P, T]) -> Callable[P, T]:
        """Wrap a function so that its time counts towards the stage."""

        def timed(*args: P.args, **kwargs: P.kwargs) -> T:
            with self.measure(stage):
                return work(*args, **kwargs)

        return timed

    @property
    def stages(self) -> tuple[tuple[str, float], ...]:
        """The stages so far, `other` and `total`."""
        with self._lock:
            self._count()
            return tuple(added_up(self.seconds, self._last - self._began).items())


def added_up(seconds: Mapping[str, float], total: float) -> dict[str, float]:
    """The stages, the rest of the total as `other`, and the `total`, in whole microseconds so that
    they add up exactly."""
    stages = {stage: round(spent, 6) for stage, spent in seconds.items()}
    rest = round(total - sum(stages.values()), 6)
    # Rounded stages may exceed the total by some microseconds.
    whole = round(sum(stages.values()) + max(rest, 0.0), 6)
    return {**stages, OTHER: max(rest, 0.0), TOTAL: whole}
