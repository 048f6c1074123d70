"""The guarantee of certified thresholds: whether it holds, and which thresholds are in force.

The certificate holds for answers that are drawn like those of the calibration. If an online test
rejects that, the guarantee is suspended until the thresholds are calibrated again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from suffice.errors import SettingsError
from suffice.settings import CollectionSettings

_REMEDY = "Run: suffice calibrate LABELS --out thresholds.json"
GATE, CONFIDENCE = "gate", "confidence"
"""The thresholds of an answer that is served: of the gate's probability, and of the confidence."""
_FLOOR = re.compile(r"confidence\s*(?:>=|>)\s*(\d*\.?\d+)")
_SERVES = re.compile(r"->\s*SERVE\b")


class Status(StrEnum):
    NONE = "none"
    """No certificate is configured, so nothing is guaranteed."""
    ACTIVE = "active"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The state of the guarantee, since when and why. `certificate` is the hash of its file."""

    status: Status = Status.NONE
    since: str = ""
    why: str = "No certificate is configured (monitor.certificate)."
    certificate: str = ""


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the monitor needs of a `thresholds.json`: at most a share `alpha` of the served answers
    is wrong, with confidence 1 − `delta`. `reference` are the confidences of the answers that the
    thresholds were calibrated on."""

    thresholds: Mapping[str, float]
    alpha: float
    delta: float
    reference: tuple[float, ...]
    digest: str = ""

    @property
    def promise(self) -> str:
        share, sure = f"{self.alpha:.3g}", f"{1 - self.delta:.3g}"
        return f"At most {share} of the served answers are wrong, with confidence {sure}."


def read_certificate(path: str | Path) -> Certificate | None:
    """Read the certificate; `None` if no file is named."""
    if not str(path):
        return None
    try:
        body = Path(path).read_bytes()
        tree: Any = json.loads(body)
        given = tree["thresholds"].items()
        thresholds = {str(name): float(value) for name, value in given if value is not None}
        scores = tuple(float(score) for score in tree["reference"])
        alpha, delta = float(tree["alpha"]), float(tree["delta"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        why = f"{type(problem).__name__}: {problem}"
        raise SettingsError(f"{path} is not a certificate ({why}).", remedy=_REMEDY) from problem
    if not scores or not all(0 <= score <= 1 for score in scores):
        raise SettingsError(f"{path} has no reference scores from 0 to 1.", remedy=_REMEDY)
    return Certificate(thresholds, alpha, delta, scores, hashlib.sha256(body).hexdigest()[:16])


def in_force(
    certificate: Certificate | None,
    state: Guarantee,
    defaults: Mapping[str, float] | None = None,
) -> Mapping[str, float]:
    """The thresholds to apply: the certified ones; while the guarantee is suspended, for each the
    stricter of certified and published; without a certificate, the published ones. `defaults`
    replace the published ones."""
    defaults = published() if defaults is None else defaults
    certified = {**defaults, **(certificate.thresholds if certificate else {})}
    if state.status is not Status.SUSPENDED:
        return certified
    return {name: max(value, defaults.get(name, 0.0)) for name, value in certified.items()}


def published() -> Mapping[str, float]:
    """The default thresholds."""
    own = CollectionSettings()
    rows = [row for row in own.verdict.routes if _SERVES.search(row)]
    floors = [float(floor) for row in rows for floor in _FLOOR.findall(row)]
    return {GATE: own.gate.learned.sufficient, CONFIDENCE: min(floors)}


def restricted(own: CollectionSettings, least: Mapping[str, float]) -> CollectionSettings:
    """The settings with thresholds that are at least these: SERVE needs them, and nothing is
    relaxed."""
    gate, floor = least.get(GATE, 0.0), least.get(CONFIDENCE, 0.0)
    learned = replace(own.gate.learned, sufficient=max(own.gate.learned.sufficient, gate))
    rows = own.verdict.routes
    routes = tuple(_raised(row, floor) if _SERVES.search(row) else row for row in rows)
    routes += ("else -> WITHHOLD",) if _SERVES.search(rows[-1]) else ()
    return replace(
        own,
        gate=replace(own.gate, learned=learned),
        verdict=replace(own.verdict, routes=routes),
    )


def _raised(row: str, floor: float) -> str:
    """A row with a confidence of at least `floor`."""
    when, _, then = row.partition("->")
    known = [float(one) for one in _FLOOR.findall(when)]
    if known and max(known) >= floor:
        return row
    parts = [part.strip() for part in when.split(" and ")]
    kept = [part for part in parts if part != "else" and not _FLOOR.fullmatch(part)]
    return " and ".join([*kept, f"confidence >= {floor:.4f}"]) + f" -> {then.strip()}"
