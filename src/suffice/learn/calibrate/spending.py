"""How much of δ each calibration may spend if rows are used more than once.

Another calibration after a failure, on the same rows or with more, is another chance to succeed by
luck. So the k-th calibration on the same rows is tested at level δ/(k(k+1)); these levels add up to
at most δ. A calibration on rows that no earlier one used starts with the full δ.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from suffice.errors import LabelsError


@dataclass(frozen=True, slots=True)
class Run:
    """One calibration in the history of a certificate: when, on which rows, what it promised with
    which `rule`, and the part of δ that it spent (`level`)."""

    time: str
    data: str
    n: int
    alpha: float
    delta: float
    level: float
    certified: bool
    fresh: bool
    """None of its rows was used by an earlier calibration."""
    rule: str = ""
    """A digest of models, policy and options: with the same rows, it gives the same result."""

    def repeats(self, other: Run) -> bool:
        """Whether both are the same calibration of the same rows."""
        same = (self.data, self.rule, self.alpha, self.delta)
        return same == (other.data, other.rule, other.alpha, other.delta)


def level_of(
    delta: float,
    history: Sequence[Run],
    used: Collection[str],
    rows: Collection[str],
    *,
    final: bool = False,
) -> tuple[float, bool]:
    """The level of the next calibration, and whether all of its rows are new. `used` are the rows
    of the earlier ones. `final`: spend all that remains of δ."""
    fresh = not history or not set(used) & set(rows)
    series = [] if fresh else _series(history)
    left = delta - sum(run.level for run in series)
    if left <= delta * 1e-9:
        raise LabelsError(
            f"Earlier calibrations on these rows spent all of δ = {delta:g}.",
            remedy="Label answers that no calibration has used, and calibrate on those alone.",
        )
    k = len(series) + 1
    return left if final else min(left, delta / (k * (k + 1))), fresh


def _series(history: Sequence[Run]) -> list[Run]:
    """The calibrations since the last one whose rows were all new."""
    start = max(n for n, run in enumerate(history) if run.fresh or n == 0)
    return list(history[start:])
