"""Model cards: the identity, origin and expected scores of the weights."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ModelDamaged, ModelMissing
from suffice.models.session import state_of


@dataclass(frozen=True, slots=True)
class Card:
    """The description of a model folder, read from `card.json`, its single source of truth."""

    folder: Path
    name: str
    version: str
    dimension: int
    window: int
    files: dict[str, str]
    """Maps file names to their sha256."""
    raw: dict[str, Any]

    @property
    def id(self) -> str:
        """Identifies the exact weights. An index built with other weights cannot be used."""
        return f"{self.name}-{self.version}-{next(iter(self.files.values()))[:8]}"

    def verify(self) -> None:
        """Raise an error if a file does not match the card."""
        if not self.files:
            raise ModelDamaged(f"{self.name}: its card lists no file.", remedy=REINSTALL)
        for name, expected in self.files.items():
            try:
                found = _sha256(self.folder / name, state_of(self.folder / name))
            except OSError as problem:
                raise ModelDamaged(
                    f"{self.name}: {name} cannot be read: {problem.strerror}.", remedy=REINSTALL
                ) from problem
            if found != expected:
                raise ModelDamaged(
                    f"{self.name}: {name} has sha256 {found[:12]}…, but the card says "
                    f"{expected[:12]}….",
                    remedy=REINSTALL,
                )


@lru_cache(maxsize=64)
def _sha256(file: Path, _state: object) -> str:
    """The hash of a file, computed once per process unless the file is replaced."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


REINSTALL = "Run: pip install --force-reinstall suffice"


def read_card(folder: Path) -> Card:
    """The card of a model folder."""
    try:
        raw = json.loads((folder / "card.json").read_text(encoding="utf-8"))
        return Card(
            folder=folder,
            name=raw["name"],
            version=raw["version"],
            dimension=raw["dimension"],
            window=raw["window"],
            files={name: entry["sha256"] for name, entry in raw["files"].items()},
            raw=raw,
        )
    except FileNotFoundError:
        raise ModelMissing(
            f"There is no model card in {folder}.",
            remedy="Use a model folder that contains a card.json.",
        ) from None
    except (ValueError, KeyError, TypeError) as problem:
        raise ModelDamaged(
            f"{folder}/card.json is not a valid card: {problem!r}.", remedy=REINSTALL
        ) from problem


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
