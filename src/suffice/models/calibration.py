"""Converts a model's raw margin to a probability with a linear function in log-odds, fitted on
development data and stored in the card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ModelDamaged
from suffice.models.card import REINSTALL

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Calibration:
    """`slope * margin + offset` is the log-odds that the better class is right."""

    slope: float = 1.0
    offset: float = 0.0

    def probability(self, margin: Floats) -> Floats:
        odds = self.slope * margin + self.offset
        found: Floats = 1 / (1 + np.exp(-np.clip(odds, -60, 60)))
        return found


def margin(logits: Floats, column: int) -> Floats:
    """The log-odds of a class against all other classes together."""
    others = np.delete(logits, column, axis=1)
    found: Floats = logits[:, column] - np.logaddexp.reduce(others, axis=1)
    return found


def read_calibration(card: Mapping[str, Any], question: str) -> Calibration:
    return Calibration(*_numbers(card, ("slope", "offset"), "calibration", question))


def _numbers(card: Mapping[str, Any], names: tuple[str, str], *path: str) -> tuple[float, float]:
    """Two numbers from a card. Raise an error if they are missing: no score would be meaningful."""
    try:
        value: Any = card
        for key in path:
            value = value[key]
        one, other = (float(value[name]) for name in names)
        if not math.isfinite(one) or not math.isfinite(other):
            raise ValueError(f"{value}")
    except (KeyError, TypeError, ValueError) as problem:
        raise ModelDamaged(
            f"{card.get('name')}: its card lacks {' '.join(path)}: {problem}.", remedy=REINSTALL
        ) from problem
    return one, other
