"""The published tiers of similarity: one strong passage, two good ones, or three fair ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean

from suffice.gate.missing import missing_aspects
from suffice.settings import TiersSettings
from suffice.types import Evidence, GateDecision, Level


@dataclass(frozen=True, slots=True)
class Tiers:
    """Open if max ≥ .40, or max ≥ .35 with two relevant, or mean ≥ .30 with three relevant."""

    settings: TiersSettings = field(default_factory=TiersSettings)

    def decide(self, evidence: Evidence) -> GateDecision:
        scores = [item.relevance for item in evidence if item.relevance is not None]
        best = max(scores, default=0.0)
        relevant = [score for score in scores if score >= self.settings.relevant]
        tier = self._tier(best, relevant)
        said = (
            f"best similarity {best:.2f}, {len(relevant)} of {len(evidence)} passages "
            f"at {self.settings.relevant:.2f} or more"
        )
        if evidence and not scores:
            said = "no similarity is known for these passages; the coverage policy needs none"
        return GateDecision(
            level=Level.SUFFICIENT if tier else Level.INSUFFICIENT,
            score=best,
            policy="tiers",
            reasons=(said,) if evidence else ("no passage was found",),
            missing=() if tier else missing_aspects(evidence),
            tier=tier,
        )

    def _tier(self, best: float, relevant: list[float]) -> str | None:
        if best >= self.settings.one:
            return "one strong passage"
        if best >= self.settings.two and len(relevant) >= 2:
            return "two relevant passages"
        if len(relevant) >= 3 and fmean(relevant) >= self.settings.three:
            return "three relevant passages"
        return None
