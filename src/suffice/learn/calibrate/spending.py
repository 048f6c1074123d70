"""The share of δ that each calibration may spend if rows are used more than once.

Another calibration after a failure, on the same rows or more, is another chance to succeed by luck.
So the k-th calibration on the same rows is tested at level δ/(k(k+1)); these levels add up to at
most δ. A calibration on rows that no earlier one used starts a new series with the full δ. One that
uses rows of several series counts in each of them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from suffice.errors import LabelsError


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
