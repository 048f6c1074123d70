"""Rewrites a question for a second search: as keywords, with synonyms, and clause by clause."""

from __future__ import annotations

import re

from suffice.text.synonyms import Synonyms
from suffice.text.words import STOP_WORDS

_WORD = re.compile(r"\w+(?:[-.'’]\w+)*")
_CLAUSE = re.compile(r"[;?!]\s+|,\s+(?=(?:and|but|how|what|when|which|who|where)\b)")
_MOST = 4
_MOST_SYNONYMS = 6


def rewritten(question: str, synonyms: Synonyms | None = None) -> tuple[str, ...]:
    """At most four other queries for the question.

    >>> rewritten("How many days of vacation do I have left?")[0]
    'days vacation left'
    """
    known = synonyms or Synonyms.read()
    words = [word for word in _WORD.findall(question) if word.lower() not in STOP_WORDS]
    others = [other for word in words for other in known.of(word)[:2]]
    clauses = [clause for clause in _CLAUSE.split(question) if len(clause.split()) > 2]
    candidates = [
        " ".join(words),
        " ".join((*words, *dict.fromkeys(others[:_MOST_SYNONYMS]))) if others else "",
        *(clauses if len(clauses) > 1 else ()),
    ]
    seen = {_bare(question), ""}
    queries: list[str] = []
    for candidate in candidates:
        if _bare(candidate) not in seen:
            seen.add(_bare(candidate))
            queries.append(candidate)
    return tuple(queries[:_MOST])


def _bare(text: str) -> str:
    return " ".join(_WORD.findall(text.lower()))
