"""Measures the similarity of each claim to the passages it cites. Cheap, but never decisive.

"16 weeks" and "18 weeks" are almost identical to an embedder, so similarity cannot back a claim.
The score is recorded next to the other findings and shows claims that stray from their source.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from suffice.checks.claim_text import alone, cited_passages
from suffice.deadline import watched
from suffice.models.embedder import Embedder
from suffice.settings import GroundingSettings
from suffice.types import Claim, Code, Draft, Evidence, Finding, Passage, Support


@dataclass(frozen=True, slots=True)
class Grounding:
    """The highest cosine between a claim and the passages it cites (all, if it cites none)."""

    embedder: Embedder
    settings: GroundingSettings = field(default_factory=GroundingSettings)
    name: str = "grounding"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        alone_texts = alone(draft)
        sources = [own or evidence.passages for own in cited_passages(draft, evidence)]
        texts = dict.fromkeys([*alone_texts, *(p.text for own in sources for p in own)])
        vectors = dict(zip(texts, self.embedder.embed(list(texts)), strict=True)) if texts else {}
        return [
            self._finding(claim, {p.id: float(vectors[text] @ vectors[p.text]) for p in own}, own)
            for claim, text, own in watched(zip(draft.claims, alone_texts, sources, strict=True))
        ]

    def _finding(
        self, claim: Claim, near: dict[str, float], sources: tuple[Passage, ...]
    ) -> Finding:
        if not sources:
            reason = "there is no passage to compare with"
            return Finding(claim, self.name, Support.UNCHECKED, reason=reason)
        best = max(near, key=lambda place: near[place])
        score = near[best]
        return Finding(
            claim,
            self.name,
            Support.UNCHECKED,
            score,
            best,
            reason=f"{self._word(score)} the cited passages ({score:.2f})",
            code=Code.CLEAR if score >= self.settings.near else Code.FAR,
        )

    def _word(self, score: float) -> str:
        if score >= self.settings.close:
            return "close to"
        return "near" if score >= self.settings.near else "far from"
