"""Learn-then-Test (Angelopoulos et al. 2021): finds pairs of thresholds that meet the guarantee.

Each pair is a hypothesis, "the error rate among the served answers is above α", with a p-value. The
probability of rejecting any true hypothesis must stay below δ. So one part of the rows determines
the order of the tests: the pair most likely to pass first, then pairs that serve more
(Laufer-Goldshtein et al. 2023). The other part tests the pairs in that order, each at level δ, and
stops at the first that is not rejected. With too few rows to split, a few fixed pairs are tested at
δ divided by their number (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.learn.calibrate.expected import strength
from suffice.learn.calibrate.table import Grid, Table
from suffice.pvalues import Flags, Numbers, ratio_test

Places = npt.NDArray[np.intp]


class Family(StrEnum):
    """How the family-wise error rate of many tests is kept below δ."""

    FIXED_SEQUENCE = "fixed-sequence"
    BONFERRONI = "bonferroni"


@dataclass(frozen=True, slots=True)
class Promise:
    """With probability 1 − `level`, the error rate of served answers is at most `alpha`; if set, at
    most a share `false_withhold` of the correct answers is withheld."""

    alpha: float
    level: float
    false_withhold: float | None = None

    def pvalues(self, table: Table, grid: Grid) -> Numbers:
        """The p-value of each pair: the larger one if there are two limits."""
        served = table.served(grid)
        wrong = np.broadcast_to(table.wrong, served.shape)
        found = ratio_test(wrong, served, self.alpha, table.weights, table.largest)
        if self.false_withhold is None:
            return found
        withheld = ratio_test(~served, ~wrong, self.false_withhold, table.weights, table.largest)
        return np.maximum(found, withheld)


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of serving a wrong answer and of withholding a correct one. Without costs, the pair
    that serves most is chosen."""

    wrong: float = 0.0
    withheld: float = 0.0

    def of(self, table: Table, served: Flags) -> Numbers:
        """The cost of each pair of thresholds; if no costs are set, minus the share it serves."""
        if not self.wrong and not self.withheld:
            return -table.share(served)
        wrong, withheld = table.share(served & table.wrong), table.share(~served & ~table.wrong)
        return np.asarray(self.wrong * wrong + self.withheld * withheld)


@dataclass(frozen=True, slots=True)
class Selected:
    """The result: the pairs in the order of testing, their p-values, and which of them passed.
    `best` is the index of the chosen pair in `grid`."""

    family: Family
    grid: Grid
    pvalues: Numbers
    passed: Flags
    best: int | None

    @property
    def thresholds(self) -> tuple[float, float] | None:
        if self.best is None:
            return None
        return float(self.grid.gate[self.best]), float(self.grid.confidence[self.best])


def fixed_sequence(
    table: Table, selection: Flags, grid: Grid, promise: Promise, costs: Costs | None = None
) -> Selected:
    """Order the pairs on the rows of `selection`, and test them in that order on the others."""
    chosen, testing = table.rows(selection), table.rows(~selection)
    surest = strength(chosen, grid, promise.alpha, len(testing), promise.false_withhold)
    order = sequence(surest, chosen.share(chosen.served(grid)))
    tried = grid.keep(order)
    pvalues = promise.pvalues(testing, tried)
    passed = np.logical_and.accumulate(pvalues <= promise.level)
    best = _best(table, tried, passed, costs or Costs())
    return Selected(Family.FIXED_SEQUENCE, tried, pvalues, passed, best)


def sequence(surest: Numbers, coverage: Numbers) -> Places:
    """The order of tests: the safest pair, then each that serves more than all before it."""
    order = np.lexsort((-coverage, -surest))
    most = np.maximum.accumulate(np.concatenate([[0.0], coverage[order]]))[:-1]
    return np.asarray(order[coverage[order] > most])


def bonferroni(table: Table, grid: Grid, promise: Promise, costs: Costs | None = None) -> Selected:
    """Test all pairs of a grid that was fixed before the rows were seen."""
    pvalues = promise.pvalues(table, grid)
    passed = np.asarray(pvalues <= promise.level / len(grid))
    best = _best(table, grid, passed, costs or Costs())
    return Selected(Family.BONFERRONI, grid, pvalues, passed, best)


def _best(table: Table, grid: Grid, passed: Any, costs: Costs) -> int | None:
    """The cheapest certified pair. Choosing any certified pair meets the guarantee."""
    places = np.flatnonzero(passed)
    if not len(places):
        return None
    own = costs.of(table, table.served(grid.keep(places)))
    return int(places[int(np.argmin(own))])
