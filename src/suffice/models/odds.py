"""Log-odds of probabilities, for averaging several scores of the same statement."""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST = 14.0
"""The limit of the log-odds, so that a single score cannot outweigh all others."""


def log_odds(chance: float, most: float = MOST) -> float:
    """The log-odds, limited to `most` in both directions."""
    if not 0 < chance < 1:
        return math.copysign(most, chance - 0.5)
    return max(-most, min(most, math.log(chance / (1 - chance))))


def chance_of(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def mean_odds(chances: Sequence[float]) -> float:
    """The mean of several scores for the same statement, computed in log-odds."""
    return chance_of(sum(map(log_odds, chances)) / len(chances))
