"""Labelled answers as arrays: shows which are served and wrong, for many thresholds at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.learn.calibrate.labels import Label, Scores
from suffice.pvalues import Flags, Numbers, interval
from suffice.types import Action

DECIMALS = 4
"""Thresholds have this many decimals, so that the file and the routing table agree."""


@dataclass(frozen=True, slots=True)
class Table:
    """One entry per row. `allowed`: every rule besides the two thresholds is met. `weights` are
    inverse sampling probabilities; `None`: all rows count the same. `largest` is the largest weight
    that any answer could have had, sampled or not."""

    gate: Numbers
    confidence: Numbers
    allowed: Flags
    wrong: Flags
    weights: Numbers | None = None
    largest: float = 1.0

    @classmethod
    def of(
        cls, labels: Sequence[Label], scores: Sequence[Scores], served: Sequence[Action]
    ) -> Table:
        """The table of these labels. An answer that was sampled but not judged counts as wrong."""
        chances = [label.probability for label in labels if label.probability is not None]
        least = min((label.least_probability for label in labels), default=1.0)
        return cls(
            np.array([one.gate for one in scores], np.float64),
            np.array([one.confidence for one in scores], np.float64),
            np.array([one.action is None or one.action in served for one in scores], np.bool_),
            np.array([label.correct is not True for label in labels], np.bool_),
            1 / np.array(chances) if least < 1 else None,
            1 / least,
        )

    def __len__(self) -> int:
        return len(self.gate)

    def rows(self, chosen: Any) -> Table:
        """A table of the chosen rows only; `chosen` is a mask or an array of row numbers."""
        weights = None if self.weights is None else self.weights[chosen]
        return Table(
            self.gate[chosen],
            self.confidence[chosen],
            self.allowed[chosen],
            self.wrong[chosen],
            weights,
            self.largest,
        )

    def served(self, grid: Grid) -> Flags:
        """Whether each row (second axis) is served at each pair of thresholds (first axis)."""
        opens = self.gate >= grid.gate[:, None]
        return np.asarray(opens & (self.confidence >= grid.confidence[:, None]) & self.allowed)

    def share(self, hit: Flags, among: Flags | None = None) -> Numbers:
        """The weighted share of hits, along the last axis; 0 where there are no rows."""
        weights = np.ones(len(self)) if self.weights is None else self.weights
        base = np.ones(len(self), np.bool_) if among is None else among
        total = np.asarray((base * weights).sum(axis=-1))
        hits = np.asarray(((hit & base) * weights).sum(axis=-1))
        return np.asarray(np.divide(hits, total, out=np.zeros_like(hits), where=total > 0))

    def rate(self, hit: Flags, among: Flags | None = None) -> dict[str, Any]:
        """A share with its 95 % interval and its counts. With weights, the interval uses the
        effective number of rows, which is an approximation."""
        base = np.ones(len(self), np.bool_) if among is None else among
        rows, hits = int(base.sum()), int((hit & base).sum())
        value = float(self.share(hit, base))
        low, high = interval(hits, rows)
        if self.weights is not None and rows:
            own = self.weights[base]
            effective = float(own.sum() ** 2 / (own**2).sum())
            low, high = interval(round(value * effective), max(1, round(effective)))
        known = rows > 0
        return {
            "rate": value if known else None,
            "low": low,
            "high": high,
            "hits": hits,
            "rows": rows,
        }


@dataclass(frozen=True, slots=True)
class Grid:
    """Pairs of thresholds to test."""

    gate: Numbers
    confidence: Numbers

    def __len__(self) -> int:
        return len(self.gate)

    @property
    def pairs(self) -> list[tuple[float, float]]:
        return list(zip(self.gate.tolist(), self.confidence.tolist(), strict=True))

    @classmethod
    def product(cls, gate: Sequence[float], confidence: Sequence[float]) -> Grid:
        pairs = np.array([(g, c) for g in sorted(set(gate)) for c in sorted(set(confidence))])
        return cls(pairs[:, 0], pairs[:, 1])

    @classmethod
    def of(cls, table: Table, floor: tuple[float, float], *, gated: bool, steps: int = 20) -> Grid:
        """Every combination of quantiles of the two scores, none under the floor. Without a gate to
        tune, its threshold stays 0."""
        gate = _quantiles(table.gate[table.allowed], floor[0], steps) if gated else [0.0]
        return cls.product(
            gate, _quantiles(table.confidence[table.allowed], floor[1], steps + steps // 2)
        )

    def keep(self, chosen: Any) -> Grid:
        return Grid(self.gate[chosen], self.confidence[chosen])


def _quantiles(scores: Numbers, floor: float, steps: int) -> list[float]:
    """Thresholds with equal shares of the rows between them, and the floor itself. They are rounded
    down, so that the row that gave a threshold reaches it."""
    found = np.quantile(scores, np.arange(steps) / steps) if len(scores) else np.array([])
    scale = 10**DECIMALS
    floors = np.floor(found * scale) / scale
    return [floor, *(float(one) for one in floors if one > floor)]
