"""Finds retrieved chunks that contradict each other.

>>> from suffice.compat.conflicts import detect_retrieval_conflicts
>>> chunks = ["Parental leave is 16 weeks.", "Parental leave is 18 weeks."]
>>> [(pair.first, pair.second) for pair in detect_retrieval_conflicts(chunks)]
[(0, 1)]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from suffice.evidence.inputs import Given, given
from suffice.evidence.sanitize import sanitized
from suffice.gate.conflict.detect import Conflicts
from suffice.models.catalog import open_verifier
from suffice.models.verifier import Verifier
from suffice.settings import ConflictSettings, VerifierSettings
from suffice.types import Evidence


@dataclass(frozen=True, slots=True)
class ConflictPair:
    """Two contradicting chunks, by their index in the list, with a quote of each. `ambiguous`: they
    describe different things that share a name."""

    first: int
    second: int
    first_quote: str
    second_quote: str
    score: float
    reason: str
    ambiguous: bool


def detect_retrieval_conflicts(
    chunks: Iterable[Given] | Given,
    question: str = "",
    *,
    settings: ConflictSettings | None = None,
    verifier: Verifier | None = None,
) -> list[ConflictPair]:
    """The conflicting pairs, most certain first, then the ambiguous ones. With a question, only
    statements that answer it are compared. Chunks of the same document version are not compared."""
    items = given(chunks)
    places = {item.passage.id: place for place, item in enumerate(items)}
    conflicts = Conflicts(
        verifier or open_verifier(VerifierSettings()), settings or ConflictSettings()
    )
    return [
        ConflictPair(
            places[one.first.id],
            places[one.second.id],
            one.first_quote,
            one.second_quote,
            one.score,
            one.reason,
            one.ambiguous,
        )
        for one in conflicts.find(sanitized(Evidence(question, items)))
    ]
