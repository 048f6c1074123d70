"""The published checkpoint policy: enough passages, and a good best passage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from suffice.gate.missing import missing_aspects
from suffice.gate.policies.similarity import (
    NO_PASSAGE,
    NO_SIMILARITY,
    Similarity,
    counted,
    similarity,
)
from suffice.settings import CheckpointSettings
from suffice.types import Evidence, GateDecision, Level, Signal


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Opens with at least three passages and a best similarity of at least .65."""

    settings: CheckpointSettings = field(default_factory=CheckpointSettings)

    def decide(self, evidence: Evidence) -> GateDecision:
        found = similarity(evidence)
        against = tuple(self._against(found))
        reasons = against or (f"{counted(found.passages)}, best similarity {found.best:.2f}",)
        return GateDecision(
            level=Level.INSUFFICIENT if against else Level.SUFFICIENT,
            score=found.best,
            policy="checkpoint",
            reasons=(*reasons, *found.notes),
            missing=missing_aspects(evidence) if against else (),
            signals=self._signals(found),
        )

    def _against(self, found: Similarity) -> Iterator[str]:
        """Descriptions of the conditions that are not met."""
        if not found.passages:
            yield NO_PASSAGE
            return
        if found.passages < self.settings.min_passages:
            yield f"{found.passages} of {counted(self.settings.min_passages)} required"
        if not found.scores:
            yield NO_SIMILARITY
        elif found.best < self.settings.min_best_similarity:
            yield f"best similarity {found.best:.3f} is under {self.settings.min_best_similarity:g}"

    def _signals(self, found: Similarity) -> tuple[Signal, ...]:
        best = found.best if found.scores else None
        return (
            Signal("passages", found.passages, self.settings.min_passages),
            Signal("best similarity", best, self.settings.min_best_similarity),
        )
