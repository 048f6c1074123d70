"""Learn-then-Test (Angelopoulos et al. 2021): finds pairs of thresholds that meet the guarantee.

Each pair is a hypothesis, "the error rate among the served answers is above α", with a p-value. The
probability of rejecting any true hypothesis must stay below δ. So one part of the rows determines
the order of the tests: the pair most likely to pass first, then pairs that serve more
(Laufer-Goldshtein et al. 2023). The other part tests the pairs in that order, each at level δ, and
stops at the first that is not rejected. With too few rows to split, a few fixed pairs are tested at
δ divided by their number (Bonferroni).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.bounds import Flags, Numbers, at_most, first_where, ratio_test
from suffice.errors import LabelsError
from suffice.lab.calibrate.scores import Grid, Table

_SURE = 1e-4
_RIDGE = 1.0
_STEPS = 25


def expected_errors(table: Table) -> Numbers:
    """The probability that each row is wrong, from a logistic regression on the allowed rows."""
    features = np.column_stack(
        [np.ones(len(table)), _log_odds(table.gate), _log_odds(table.confidence)]
    )
    rows = table.allowed
    weights = np.ones(len(table)) if table.weights is None else table.weights / table.weights.mean()
    return _chance(features @ _fit(features[rows], table.wrong[rows], weights[rows]))


def strength(
    table: Table, grid: Grid, alpha: float, rows: int, false_withhold: float | None = None
) -> Numbers:
    """How many standard errors below its limit each threshold pair's error rate is expected to be,
    in a test on `rows` rows. If false withholding is also limited, the smaller margin."""
    served, wrong = table.served(grid), expected_errors(table)
    found = _margin(table, served, wrong, alpha, rows)
    if false_withhold is None:
        return found
    right = 1 - wrong
    withheld = (~served * right).sum(axis=-1) / max(float(right.sum()), 1e-9)
    count = max(rows * float(right.mean()), 1e-9)
    spread = np.sqrt(false_withhold * (1 - false_withhold) / count)
    return np.asarray(np.minimum(found, (false_withhold - withheld) / spread))


def _margin(table: Table, served: Flags, wrong: Numbers, alpha: float, rows: int) -> Numbers:
    weights = np.ones(len(table)) if table.weights is None else table.weights
    total = (served * weights).sum(axis=-1)
    errors = (served * weights * wrong).sum(axis=-1)
    rate = np.divide(errors, total, out=np.ones_like(total), where=total > 0)
    count = np.maximum(table.share(served) * rows, 1e-9)
    return np.asarray((alpha - rate) * np.sqrt(count / (alpha * (1 - alpha))))


def _log_odds(scores: Numbers) -> Numbers:
    inside = np.clip(scores, _SURE, 1 - _SURE)
    return np.asarray(np.log(inside / (1 - inside)))


def _chance(odds: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def _fit(features: Numbers, wrong: Flags, weights: Numbers) -> Numbers:
    """Ridge logistic regression by Newton's method; the intercept is not penalised."""
    penalty = _RIDGE * np.eye(features.shape[1])
    penalty[0, 0] = 1e-3
    own = np.zeros(features.shape[1])
    for _ in range(_STEPS):
        chance = _chance(features @ own)
        curve = features.T @ (features * (weights * chance * (1 - chance))[:, None]) + penalty
        slope = features.T @ (weights * (wrong - chance)) - penalty @ own
        step = np.linalg.solve(curve, slope)
        own = own + step
        if np.abs(step).max() < 1e-8:
            break
    return own


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


@dataclass(frozen=True, slots=True)
class Run:
    """One calibration in the history of a certificate: its time, rows, guarantee and `rule`, and
    the part of δ that it spent (`level`)."""

    time: str
    data: str
    n: int
    alpha: float
    delta: float
    level: float
    certified: bool
    fresh: bool
    """Whether no earlier calibration used any of its rows."""
    rule: str = ""
    """A digest of models, policy, options and tested thresholds. The same rule on the same rows
    gives the same result."""
    series: tuple[int, ...] = (0,)
    """The numbers of the series in which it counts."""

    def repeats(self, other: Run) -> bool:
        """Whether both are the same calibration on the same rows."""
        same = (self.data, self.rule, self.alpha, self.delta)
        return same == (other.data, other.rule, other.alpha, other.delta)


def level_of(
    delta: float,
    history: Sequence[Run],
    used: Sequence[Collection[str]],
    rows: Collection[str],
    *,
    final: bool = False,
) -> tuple[float, tuple[int, ...]]:
    """The level of the next calibration, and the series in which it counts. `used` holds the rows
    of each series. `final` spends all that remains of δ."""
    own = set(rows)
    shared = tuple(n for n, past in enumerate(used) if not own.isdisjoint(past))
    series = shared or (len(used),)
    return min(_level(delta, of_series(history, n), final=final) for n in series), series


def of_series(history: Sequence[Run], number: int) -> list[Run]:
    return [run for run in history if number in run.series]


def _level(delta: float, series: Sequence[Run], *, final: bool) -> float:
    left = delta - sum(run.level for run in series)
    if left <= delta * 1e-9:
        raise LabelsError(
            f"Earlier calibrations on these rows spent all of δ = {delta:g}.",
            remedy="Label answers that no calibration has used, and calibrate on those alone.",
        )
    k = len(series) + 1
    return left if final else min(left, delta / (k * (k + 1)))
