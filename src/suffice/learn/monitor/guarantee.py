"""The guarantee of certified thresholds: whether it holds, and which thresholds are in force.

The certificate holds for answers that are drawn like those of the calibration. If an online test
rejects that, the guarantee is suspended until the thresholds are calibrated again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from suffice.errors import SettingsError

_REMEDY = "Run: suffice calibrate LABELS --out thresholds.json"
LOWER_IS_STRICTER = frozenset({"checks.entailment_thresholds.contradicted"})
"""Thresholds of which the lower value releases less; of all others it is the higher one."""


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
        thresholds = {str(name): float(value) for name, value in tree["thresholds"].items()}
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
    published: Mapping[str, float],
) -> Mapping[str, float]:
    """The thresholds to apply: the certified ones; while the guarantee is suspended, for each the
    stricter of certified and published; without a certificate, the published ones."""
    if certificate is None:
        return dict(published)
    if state.status is not Status.SUSPENDED:
        return {**published, **certificate.thresholds}
    return {
        name: _stricter(name, certificate.thresholds.get(name), published.get(name))
        for name in {**published, **certificate.thresholds}
    }


def _stricter(name: str, *given: float | None) -> float:
    known = [value for value in given if value is not None]
    return min(known) if name in LOWER_IS_STRICTER else max(known)
