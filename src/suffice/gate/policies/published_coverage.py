"""The terms and messages of the published weighted score, verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

STOP_WORDS = frozenset(
    """
    all and are but can for had has her how not one our out the was what when where which who why
    you
    """.split()
)
NO_CONTEXT = "No relevant context found"
GOOD = 0.7
THIN = 0.5
_TERM = re.compile(r"\b[a-zA-Z]{3,}\b")
_NAMED = 3


def terms(question: str) -> list[str]:
    """The distinct words of at least three Latin letters, in order and without stop words."""
    found = _TERM.findall(question.lower())
    return list(dict.fromkeys(word for word in found if word not in STOP_WORDS))


def lacking(asked: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The terms that do not occur in the texts, not even inside longer words."""
    held = " ".join(texts).lower()
    return [term for term in asked if term not in held]


def aspects(missing: Sequence[str], density: float, contexts: int, wanted: int) -> Iterator[str]:
    """What is missing, in the published order: at most three terms, then detail, then contexts."""
    yield from (f"Query term '{term}' not found in context" for term in missing[:_NAMED])
    if density < THIN:
        yield "Retrieved context lacks detailed information"
    if contexts < wanted:
        yield f"Only {contexts} context(s), need {wanted}"


def factors(coverage: float, relevance: float | None) -> Iterator[str]:
    """What supports the contexts. Only coverage and relevance are listed."""
    if coverage > GOOD:
        yield f"Good keyword coverage ({coverage:.0%})"
    if relevance is not None and relevance > GOOD:
        yield f"High semantic relevance ({relevance:.0%})"
