"""Probabilities as log-odds, in which readings of the same thing are averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence

MOST = 14.0
"""Log-odds of what is certain: no reading outweighs all others for good."""


def log_odds(chance: float, most: float = MOST) -> float:
    """At most `most`, either way."""
    if not 0 < chance < 1:
        return math.copysign(most, chance - 0.5)
    return max(-most, min(most, math.log(chance / (1 - chance))))


def chance_of(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def together(chances: Sequence[float]) -> float:
    """Several readings of the same as one probability: the mean of their log-odds."""
    return chance_of(sum(map(log_odds, chances)) / len(chances))
