"""The published reranking policy, which drops passages that the verifier finds irrelevant."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from suffice.evidence.split import placed
from suffice.gate.missing import missing_aspects
from suffice.gate.policies.similarity import NO_PASSAGE, counted
from suffice.models.verifier import Pair, SufficiencyScore, Verifier
from suffice.settings import RerankedSettings
from suffice.types import Evidence, Exclusion, GateDecision, Level, Retrieved, Signal


@dataclass(frozen=True, slots=True)
class Reranked:
    """Opens if a single passage answers the question with the required probability."""

    verifier: Verifier
    settings: RerankedSettings = field(default_factory=RerankedSettings)

    def decide(self, evidence: Evidence) -> GateDecision:
        items = {item.passage.id: item for item in evidence}
        asked = evidence.in_context(evidence.question)
        pairs = [Pair(asked, (placed(item.passage),)) for item in items.values()]
        scores = dict(zip(items, self.verifier.sufficiency(pairs), strict=True))
        kept = [id for id, score in scores.items() if self._kept(score)]
        best = max((s.enough for s in scores.values() if not s.unchecked), default=0.0)
        return GateDecision(
            level=Level.SUFFICIENT if kept else Level.INSUFFICIENT,
            score=best,
            policy="reranked",
            reasons=tuple(self._reasons(items, kept)),
            missing=() if kept else missing_aspects(evidence),
            signals=(
                Signal("best passage", best if scores else None, self.settings.min_relevance),
                Signal("passages kept", len(kept), 1),
            ),
            excluded=tuple(
                Exclusion(item.passage, self._why(scores[id]))
                for id, item in items.items()
                if id not in kept
            ),
        )

    def _kept(self, score: SufficiencyScore) -> bool:
        return not score.unchecked and score.enough >= self.settings.min_relevance

    def _why(self, score: SufficiencyScore) -> str:
        if score.unchecked:
            return f"it could not be judged: {score.unchecked}"
        return f"it has a {score.enough:.0%} chance of answering the question"

    def _reasons(self, items: dict[str, Retrieved], kept: list[str]) -> Iterator[str]:
        if not items:
            yield NO_PASSAGE
            return
        least = self.settings.min_relevance
        yield f"{len(kept)} of {counted(len(items))} have a chance of {least:.0%} of answering it"
        if all(item.relevance is None for item in items.values()):
            yield "no similarity is known for these passages; this policy needs none"
