"""A quantity measured at several sizes, as multiples of its value at the smallest size."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.speed import growth_exponent

Work = Callable[[int], object]
"""One piece of work; its argument is the number of the repeat, so that texts can differ."""


@dataclass(frozen=True, slots=True)
class Series:
    """`values` by size; `more` holds further figures of each size."""

    title: str
    size: str
    value: str
    values: Mapping[int, float]
    more: Mapping[int, Mapping[str, float]] = field(default_factory=dict)

    def figures(self) -> dict[str, Any]:
        first = self.values[min(self.values)]
        return {
            "title": self.title,
            "size": self.size,
            "value": self.value,
            "points": [
                {
                    "size": size,
                    "value": _short(value),
                    "ratio": _short(value / first),
                    **self.more.get(size, {}),
                }
                for size, value in sorted(self.values.items())
            ],
            "exponent": round(growth_exponent(self.values), 3) if len(self.values) > 1 else None,
        }


def shortest(
    works: Mapping[int, Work], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[int, float]:
    """The shortest time of each size in milliseconds. The sizes take turns, so that a change of the
    machine's load affects all of them. Work that is slower the first time needs two repeats. With
    `time.process_time` as clock, the processor time of all threads counts, which depends little on
    the load."""
    times: dict[int, list[float]] = {size: [] for size in works}
    for turn in range(repeats):
        for size, work in works.items():
            start = clock()
            work(turn)
            times[size].append((clock() - start) * 1e3)
    return {size: min(spent) for size, spent in times.items()}


def _short(value: float) -> float:
    """Three significant digits."""
    return float(f"{value:.3g}")
