"""The seam of the gate: anything that decides, before generation, whether evidence is enough."""

from __future__ import annotations

from typing import Protocol

from suffice.gate.coverage import Coverage
from suffice.gate.tiers import Tiers
from suffice.settings import GateSettings
from suffice.types import Evidence, GateDecision


class Policy(Protocol):
    """Decides from the evidence alone; the same evidence gives the same decision."""

    def decide(self, evidence: Evidence) -> GateDecision: ...


def open_policy(settings: GateSettings) -> Policy:
    """The policy the settings name."""
    if settings.policy == "coverage":
        return Coverage(settings.coverage)
    return Tiers(settings.tiers)
