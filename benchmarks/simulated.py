"""Simulated answers whose true error rate is known for every pair of thresholds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from suffice.bounds import Flags, Numbers
from suffice.lab.calibrate.scores import Grid, Table


@dataclass(frozen=True)
class World:
    """Scores with a correlation; the chance of an error falls with both. `sharp`: how much the
    scores tell."""

    correlation: float = 0.5
    base: float = 0.0
    sharp: float = 1.5

    def draw(self, rows: int, seed: int) -> Table:
        rng = np.random.default_rng(seed)
        cover = [[1.0, self.correlation], [self.correlation, 1.0]]
        normal = rng.multivariate_normal([0, 0], cover, rows)
        gate, confidence = (1 / (1 + np.exp(-1.5 * normal))).T
        odds = self.base + self.sharp * (normal[:, 0] + 1.5 * normal[:, 1])
        wrong = rng.random(rows) > 1 / (1 + np.exp(-odds))
        return Table(gate, confidence, rng.random(rows) < 0.9, wrong)

    def truth(self) -> Truth:
        return Truth(self.draw(200_000, 99))


@dataclass(frozen=True)
class Truth:
    """The error rate among the served, from so many rows that it counts as known."""

    rows: Table
    known: dict[tuple[float, float], float] = field(default_factory=dict)

    def error(self, pair: tuple[float, float]) -> float:
        if pair not in self.known:
            served = self.rows.served(Grid(np.array([pair[0]]), np.array([pair[1]])))
            self.known[pair] = float(self.rows.share(self.rows.wrong & served, served)[0])
        return self.known[pair]

    def coverage(self, pair: tuple[float, float]) -> float:
        served = self.rows.served(Grid(np.array([pair[0]]), np.array([pair[1]])))
        return float(self.rows.share(served)[0])


def halves(rows: int, seed: int, share: float = 0.3) -> Flags:
    """Which rows choose the order of the tests."""
    mask: Flags = np.random.default_rng(seed).random(rows) < share
    return mask


def naive(table: Table, grid: Grid, alpha: float) -> tuple[float, float] | None:
    """The thresholds that serve most among those whose error on these rows is at most α."""
    served = table.served(grid)
    error: Numbers = table.share(table.wrong & served, served)
    coverage = np.where(error <= alpha, table.share(served), 0.0)
    best = int(np.argmax(coverage))
    return (float(grid.gate[best]), float(grid.confidence[best])) if coverage[best] else None
