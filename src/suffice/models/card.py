"""Model cards: the identity, origin and expected scores of the weights."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

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
