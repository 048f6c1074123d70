"""Log-odds of probabilities, in which readings of the same statement are averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST = 14.0
"""Limit of the log-odds, so that a single reading cannot outweigh all others."""


def log_odds(chance: float, most: float = MOST) -> float:
    """The log-odds, limited to `most` in both directions."""
    if not 0 < chance < 1:
        return math.copysign(most, chance - 0.5)
    return max(-most, min(most, math.log(chance / (1 - chance))))


def chance_of(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def mean_odds(chances: Sequence[float]) -> float:
    """Combine several readings of the same statement: the mean of their log-odds, as a
    probability."""
    return chance_of(sum(map(log_odds, chances)) / len(chances))
