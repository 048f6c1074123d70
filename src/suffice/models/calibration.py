"""From a model's raw margin to a probability: one line in log-odds, fitted on dev, in the card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.models.verifier import Thresholds

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Calibration:
    """`slope * margin + offset` are the log-odds that the better class is right."""

    slope: float = 1.0
    offset: float = 0.0

    def probability(self, margin: Floats) -> Floats:
        odds = self.slope * margin + self.offset
        found: Floats = 1 / (1 + np.exp(-np.clip(odds, -60, 60)))
        return found


def margin(logits: Floats, column: int) -> Floats:
    """How far one class stands above the others together."""
    others = np.delete(logits, column, axis=1)
    found: Floats = logits[:, column] - np.logaddexp.reduce(others, axis=1)
    return found


def read_calibration(card: Mapping[str, Any], question: str) -> Calibration:
    return Calibration(**card.get("calibration", {}).get(question, {}))


def read_thresholds(card: Mapping[str, Any]) -> Thresholds:
    return Thresholds(**card.get("thresholds", {}))
