"""The certificates whose guarantee is monitored, and the thresholds in force.

A certificate holds for answers drawn from the same distribution as those of its calibration. If an
online test rejects that, the guarantee is suspended until the thresholds are calibrated again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from suffice.learn.calibrate.certificate import Certificate
from suffice.record.suspension import Guarantee, Status, default_thresholds, strict_thresholds
from suffice.settings import Settings
from suffice.verdict.thresholds import Thresholds

__all__ = ["Guarantee", "Status", "in_force", "read_certificates"]


def read_certificates(settings: Settings) -> dict[str, Certificate]:
    """The certificates that the settings, their collections and their routes name, by file."""
    return {path: Certificate.read(Path(path)) for path in dict.fromkeys(_files(settings)) if path}


def _files(settings: Settings) -> Iterator[str]:
    yield settings.verdict.thresholds_file
    for name in settings.collections:
        yield settings.collection(name).verdict.thresholds_file
    for route in settings.server.routes.values():
        if route.own:
            yield route.own.verdict.thresholds_file


def in_force(certificate: Certificate | None, state: Guarantee) -> Thresholds:
    """The thresholds to apply: the certified ones or, without a certificate, the defaults. While
    the guarantee is suspended, each is the stricter of certified and default."""
    own = certificate.applied if certificate else None
    if own is None:
        return default_thresholds(None)
    return strict_thresholds(own) if state.status is Status.SUSPENDED else own
