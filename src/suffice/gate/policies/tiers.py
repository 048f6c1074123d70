"""The published similarity tiers: one strong passage, two good passages or three fair passages."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean

from suffice.gate.missing import missing_aspects
from suffice.gate.policies.similarity import (
    NO_PASSAGE,
    NO_SIMILARITY,
    Similarity,
    counted,
    similarity,
)
from suffice.settings import TiersSettings
from suffice.types import Evidence, GateDecision, Level, Signal

_ROUNDING = 1e-9
"""Tolerance for rounding: three passages of .30 must have a mean of .30."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """Opens if max ≥ .40, or max ≥ .35 with two relevant, or mean ≥ .30 with three relevant.

    The mean is over all passages. Over the relevant passages alone, it would never be below .30.
    """

    settings: TiersSettings = field(default_factory=TiersSettings)

    def decide(self, evidence: Evidence) -> GateDecision:
        found = similarity(evidence)
        relevant = [score for score in found.scores if score >= self.settings.relevant]
        tier = self._tier(found, relevant) if found.scores else None
        return GateDecision(
            level=Level.SUFFICIENT if tier else Level.INSUFFICIENT,
            score=found.best,
            policy="tiers",
            reasons=(self._reason(found, relevant), *found.notes),
            missing=() if tier else missing_aspects(evidence),
            tier=tier,
            signals=self._signals(found, relevant),
        )

    def _tier(self, found: Similarity, relevant: list[float]) -> str | None:
        if found.best >= self.settings.one_passage:
            return "one strong passage"
        if found.best >= self.settings.two_passages and len(relevant) >= 2:
            return "two relevant passages"
        if len(relevant) >= 3 and fmean(found.scores) >= self.settings.three_passages - _ROUNDING:
            return "three relevant passages"
        return None

    def _reason(self, found: Similarity, relevant: list[float]) -> str:
        if not found.passages:
            return NO_PASSAGE
        if not found.scores:
            return NO_SIMILARITY
        return (
            f"best similarity {found.best:.2f}, {len(relevant)} of {counted(found.passages)} "
            f"at {self.settings.relevant:.2f} or more"
        )

    def _signals(self, found: Similarity, relevant: list[float]) -> tuple[Signal, ...]:
        best = found.best if found.scores else None
        mean = fmean(found.scores) if found.scores else None
        at = f"those at {self.settings.relevant:.2f} or more"
        return (
            Signal("best similarity", best, self.settings.one_passage),
            Signal("relevant passages", len(relevant), note=at),
            Signal("mean similarity", mean, self.settings.three_passages, "of all passages"),
        )
