"""The published similarity policies: tiers, checkpoint of the best passages, reranked scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan
from statistics import fmean

from suffice.evidence.split import placed
from suffice.gate.missing import missing_aspects
from suffice.models.verifier import Pair, SufficiencyScore, Verifier
from suffice.settings import CheckpointSettings, RerankedSettings, TiersSettings
from suffice.types import Evidence, Exclusion, GateDecision, Level, Retrieved, Signal

NO_PASSAGE = "no passage was found"
NO_SIMILARITY = "no similarity is known for these passages; the coverage policy needs none"


@dataclass(frozen=True, slots=True)
class Similarity:
    """The known cosines as scores in [0, 1], in the order of the evidence.

    A repeated passage counts once. Cosines outside [0, 1] are clipped, and `clipped` counts them.
    """

    scores: tuple[float, ...]
    passages: int
    clipped: int

    @property
    def best(self) -> float:
        return max(self.scores, default=0.0)

    @property
    def unknown(self) -> int:
        return self.passages - len(self.scores)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the scores were derived."""
        lines = []
        if self.clipped:
            ends = "similarity below 0 counts as 0, above 1 as 1"
            lines.append(f"{ends} ({counted(self.clipped)})")
        if self.scores and self.unknown:
            lines.append(f"left out {counted(self.unknown)} without a known similarity")
        return tuple(lines)


def similarity(evidence: Evidence) -> Similarity:
    """The known similarities of the evidence."""
    known: dict[str, float] = {}
    for item in evidence:
        if item.relevance is not None and not isnan(item.relevance):
            id = item.passage.id
            known[id] = max(item.relevance, known.get(id, item.relevance))
    passages = len({passage.id for passage in evidence.passages})
    return _clipped(tuple(known.values()), passages)


def _clipped(raw: Sequence[float], passages: int) -> Similarity:
    scores = tuple(min(max(score, 0.0), 1.0) for score in raw)
    # Rounding can put the cosine of a text with itself slightly above 1.
    moved = sum(abs(a - b) > 1e-6 for a, b in zip(raw, scores, strict=True))
    return Similarity(scores, passages, moved)


def counted(count: int, of: str = "passage") -> str:
    """A count with its noun: "1 passage", "2 passages"."""
    return f"{count} {of}{'' if count == 1 else 's'}"


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
