"""How many more labels a certificate would need, and for which coverage."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from suffice.bounds import at_most, first_where
from suffice.learn.calibrate.select import Promise
from suffice.learn.calibrate.table import Grid, Table
from suffice.pvalues import Flags, Numbers

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Needed:
    """With this many more labels, a certificate with this coverage has about even odds, if the
    error rate of served answers is what these rows suggest."""

    coverage: float
    error: float
    labels: int
    gate: float
    confidence: float


def needed(table: Table, grid: Grid, promise: Promise, testing: float) -> list[Needed]:
    """The number of labels needed for each of several coverages, fewest first. `testing` is the
    share of labels used for testing. Empty if no thresholds bring the error rate below α."""
    served = table.served(grid)
    coverage, error = table.share(served), _suggested(table, served)
    best: dict[int, Needed] = {}
    for place in np.flatnonzero((error < promise.alpha) & (coverage > 0)):
        rows = rows_needed(float(error[place]), promise)
        if rows is None:
            continue
        more = ceil(rows / (coverage[place] * testing)) - len(table)
        own = float(grid.gate[place]), float(grid.confidence[place])
        found = Needed(float(coverage[place]), float(error[place]), max(more, 1), *own)
        step = int(coverage[place] * 20)
        if step not in best or found.labels < best[step].labels:
            best[step] = found
    return _frontier(sorted(best.values(), key=lambda one: (one.labels, -one.coverage)))


def _suggested(table: Table, served: Flags) -> Numbers:
    """The error rate of served answers, shrunk towards one half by one pseudo-row: 0 wrong of 3
    does not mean a rate of 0."""
    rows = served.sum(axis=-1)
    return np.asarray((table.share(table.wrong & served, served) * rows + 0.5) / (rows + 1))


def rows_needed(error: float, promise: Promise) -> int | None:
    """The number of served rows needed to show that an error rate is below α; `None`: too many."""

    def passes(rows: int) -> bool:
        return at_most(round(error * rows), rows, promise.alpha) <= promise.level

    return first_where(passes)


def _frontier(found: list[Needed]) -> list[Needed]:
    """The entries with more coverage than all that need fewer labels."""
    kept: list[Needed] = []
    for one in found:
        if not kept or one.coverage > kept[-1].coverage:
            kept.append(one)
    return kept if len(kept) <= _SHOWN else [*kept[: _SHOWN - 1], kept[-1]]
