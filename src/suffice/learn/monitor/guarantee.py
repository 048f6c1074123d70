"""The guarantee of certified thresholds: whether it holds, and which thresholds are in force.

The certificate holds for answers from the same distribution as those of the calibration. If an
online test rejects this, the guarantee is suspended until the thresholds are calibrated again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from suffice.learn.calibrate.certificate import Certificate
from suffice.settings import CollectionSettings, Settings
from suffice.verdict.thresholds import SERVE_ONLY, Thresholds
from suffice.verdict.thresholds import in_force as thresholds_of


class Status(StrEnum):
    NONE = "none"
    """No certificate is configured, so nothing is guaranteed."""
    ACTIVE = "active"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The state of the guarantee, since when and why. `certificate` is the id of its file."""

    status: Status = Status.NONE
    since: str = ""
    why: str = "No certificate is configured (verdict.thresholds_file)."
    certificate: str = ""


def read_certificate(settings: Settings) -> Certificate | None:
    """The certificate that the settings name; `None` if they name none."""
    path = settings.verdict.thresholds_file
    return Certificate.read(Path(path)) if path else None


def in_force(certificate: Certificate | None, state: Guarantee) -> Thresholds:
    """The thresholds to apply: the certified ones or, without a certificate, the defaults. While
    the guarantee is suspended, each is the stricter of certified and default."""
    own = certificate.applied if certificate else None
    defaults = thresholds_of(CollectionSettings(), own.served if own else SERVE_ONLY)
    if own is None:
        return defaults
    return own.stricter(defaults) if state.status is Status.SUSPENDED else own


def is_monitored(own: CollectionSettings, settings: Settings) -> bool:
    """Whether the settings of a route or collection use the monitored certificate, which is that of
    the global settings."""
    path = own.verdict.thresholds_file
    return bool(path) and path == settings.verdict.thresholds_file


def suspended(own: CollectionSettings, strict: Thresholds) -> CollectionSettings:
    """The settings with these thresholds instead of the certificate. Records then no longer name
    the certificate."""
    found = strict.apply(own)
    return replace(found, verdict=replace(found.verdict, thresholds_file="", certificate=""))
