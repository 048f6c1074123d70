"""A conformal test martingale: tests online whether the distribution of scores has changed.

Each score is ranked among all earlier ones. While the scores are exchangeable, the smoothed ranks
are independent and uniform on [0, 1] (Vovk et al. 2005), whatever the distribution of the scores.
The test bets against that. Part of the capital is reserved for bets that start at each later step
(a prior over the time of change, as in Shiryaev's procedure), so that late changes are detected
too. The capital is a martingale that starts at 1: the probability that it ever reaches 1/α is at
most α (Ville's inequality). It can therefore be inspected after every score.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Counts = NDArray[np.int64]
CELLS = 240
"""The number of grid cells for ranking scores. Ties are broken at random, so the grid costs a
little power but no validity, and the size of the state does not depend on the number of scores."""
_SURE = 6.0
"""Log-odds beyond which scores are not distinguished."""
_HALF = 500.0
"""Half of the capital is reserved for changes after this many scores."""
_SLOPES = (0.5, 1.0, 1.6)
_TAILS = ((0.5, 0.5), (0.2, 1.0), (0.1, 1.0), (0.05, 1.0), (0.05, 3.0), (0.02, 3.0))
"""Bets (probability, gain): scores fall into this tail 1 + gain times as often as expected."""


class Side(Enum):
    """The changes that a test looks for."""

    UP = (1,)
    DOWN = (-1,)
    BOTH = (1, -1)

    @property
    def bets(self) -> int:
        return len(self.value) * (len(_SLOPES) + len(_TAILS))


@dataclass(frozen=True, slots=True, eq=False)
class Martingale:
    """The state of one test, or of many equally long tests along the leading dimensions. `counts`
    holds the earlier scores by cell, `capital` what each bet has won, `steps` the bets made."""

    side: Side
    counts: Counts
    capital: Array
    steps: int = 0

    @classmethod
    def of(cls, side: Side, reference: Any = ()) -> Martingale:
        """A new test. The first live score is ranked among the `reference` scores."""
        scores = np.asarray(reference, dtype=float)
        lead = scores.shape[:-1]
        counts = np.zeros((*lead, CELLS), dtype=np.int64)
        cells = cells_of(scores)
        for n in range(scores.shape[-1]):
            _count(counts, cells[..., n])
        return cls(side, counts, np.zeros((*lead, side.bets)))

    def after(self, scores: Any, ties: Any) -> tuple[Martingale, Array]:
        """The state after more scores, and the capital after each. `ties` are random numbers in
        [0, 1), one for each score."""
        cells, uniform = cells_of(scores), np.asarray(ties, dtype=float)
        counts, capital = self.counts.copy(), self.capital
        seen = counts.sum(axis=-1)
        wealth = np.empty(cells.shape)
        for n in range(cells.shape[-1]):
            rank = _rank(counts, cells[..., n], uniform[..., n], seen + n)
            step = self.steps + n + 1
            entering = _reserve(step - 1) - _reserve(step)
            capital = (capital + entering / self.side.bets) * _payoffs(rank, self.side)
            wealth[..., n] = capital.sum(axis=-1) + _reserve(step)
            _count(counts, cells[..., n])
        return Martingale(self.side, counts, capital, self.steps + cells.shape[-1]), wealth

    @property
    def wealth(self) -> Array:
        return np.asarray(self.capital.sum(axis=-1) + _reserve(self.steps))

    def restarted(self) -> Martingale:
        """The test with the same earlier scores and fresh capital."""
        return Martingale(self.side, self.counts, np.zeros_like(self.capital))


def cells_of(scores: Any) -> Counts:
    """The cell of each score in [0, 1], on a grid that is even in log-odds."""
    clipped = np.clip(np.asarray(scores, dtype=float), 1e-9, 1 - 1e-9)
    odds = np.clip(np.log(clipped / (1 - clipped)), -_SURE, _SURE)
    cells: Counts = np.rint((odds + _SURE) / (2 * _SURE) * (CELLS - 1)).astype(np.int64)
    return cells


def _reserve(steps: int) -> float:
    """The share of the initial capital that is reserved for changes after this many steps."""
    return _HALF / (_HALF + steps)


def _rank(counts: Counts, cell: Counts, tie: Array, seen: Any) -> Array:
    """The smoothed conformal p-value: the share of scores below this one, itself included."""
    lower = np.where(np.arange(CELLS) < cell[..., None], counts, 0).sum(axis=-1)
    same = np.take_along_axis(counts, cell[..., None], axis=-1)[..., 0] + 1
    ranked: Array = (lower + tie * same) / (seen + 1)
    return ranked


def _count(counts: Counts, cell: Counts) -> None:
    place = cell[..., None]
    np.put_along_axis(counts, place, np.take_along_axis(counts, place, axis=-1) + 1, axis=-1)


def _payoffs(rank: Array, side: Side) -> Array:
    """The payoff of each bet; its mean over uniform ranks is 1."""
    paid: list[Array] = []
    for sign in side.value:
        high = rank if sign > 0 else 1 - rank
        paid += [1 + slope * (high - 0.5) for slope in _SLOPES]
        paid += [
            np.where(high > 1 - tail, 1 + gain, 1 - gain * tail / (1 - tail))
            for tail, gain in _TAILS
        ]
    return np.stack(paid, axis=-1)
