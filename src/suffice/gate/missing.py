"""What the evidence does not speak of."""

from __future__ import annotations

from suffice.evidence.keywords import bm25
from suffice.text.words import content_words
from suffice.types import Evidence


def missing_words(evidence: Evidence, most: int = 3) -> tuple[str, ...]:
    """The question's words that no passage holds in any form ("orders" holds "order")."""
    read = " ".join(
        text for p in evidence.passages for text in (p.title, *p.heading, p.text, p.summary)
    )
    held = set(bm25().embed_query(read).indices)
    asked = content_words(evidence.question)
    return tuple(word for word in asked if not _stems(word) <= held)[:most]


def _stems(word: str) -> set[int]:
    return set(bm25().embed_query(word).indices)
