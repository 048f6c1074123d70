"""Disables the gate: evidence is not judged, and drafts may use any passage."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.gate.missing import missing_aspects
from suffice.gate.policies.similarity import NO_PASSAGE
from suffice.types import Evidence, GateDecision, Level, Signal

OFF = "the gate is switched off"


@dataclass(frozen=True, slots=True)
class Ungated:
    """Opens with any passage. Without passages it stays closed: nothing could back an answer."""

    def decide(self, evidence: Evidence) -> GateDecision:
        if not evidence:
            missing = missing_aspects(evidence)
            return GateDecision(Level.INSUFFICIENT, 0.0, "none", (NO_PASSAGE,), missing)
        passages = Signal("passages", len(evidence))
        return GateDecision(Level.SUFFICIENT, 1.0, "none", (OFF,), signals=(passages,))
