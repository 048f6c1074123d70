"""The similarities used by the policies: raw, and never normalised across passages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from suffice.types import Evidence

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
