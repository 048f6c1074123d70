"""What the evidence does not speak of."""

from __future__ import annotations

from suffice.text.words import content_words
from suffice.types import Evidence


def missing_words(evidence: Evidence, most: int = 3) -> tuple[str, ...]:
    """The question's words that no passage holds, at most three."""
    held = {
        word
        for passage in evidence.passages
        for word in content_words(" ".join((passage.title, *passage.heading, passage.text)))
    }
    return tuple(word for word in content_words(evidence.question) if word not in held)[:most]
