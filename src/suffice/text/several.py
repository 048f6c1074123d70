"""Splits a text into the questions it asks.

>>> several("How much is a permit, and who approves it?")
('How much is a permit', 'who approves it?')
>>> several("I moved last week. Do I need a new permit and a new badge?")
('I moved last week. Do I need a new permit and a new badge?',)
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WH = "how|what|when|where|who|whom|whose|which|why"
_VERB = "is|are|was|were|do|does|did|has|have|can|could|may|must|shall|should|will|would"
# "… and is it paid": a verb that continues the previous clause is not followed by a subject.
_SUBJECT = "i|you|we|they|he|she|it|there|the|an?|this|that|these|those|my|your|our|their|its|any"
_ASKS = re.compile(rf"\b(?:{_WH})\b|(?:^|[.,;:!?]\s+)(?:{_VERB})\b", re.I)
_NEXT = re.compile(
    rf"(?<=\?)\s+(?=\S)|(?:[,;]|(?<![\s,;]))\s++and\s+(?:also\s+)?(?=(?:{_WH})\b|(?:{_VERB})\s+(?:{_SUBJECT})\b)"
    rf"|;\s+(?=(?:{_WH})\b)",
    re.I,
)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|this|that|these|those|ones?)\b", re.I
)
_LEAST = 2
"""The minimum number of words in a question: "when and where do I apply" is not split."""


def several(question: str) -> tuple[str, ...]:
    """The questions in a text, in order. A text with only one question is returned whole."""
    found: list[str] = []
    for part in _NEXT.split(question.strip()):
        asks = _ASKS.search(part) and len(part.split()) >= _LEAST
        if found and not (asks and _ASKS.search(found[-1])):
            return (question,)
        found.append(part)
    whole = len(found) > 1 and len(found[0].split()) >= _LEAST
    return tuple(found) if whole else (question,)


def with_subject(questions: Sequence[str]) -> tuple[str, ...]:
    """The questions of a text. One with a pronoun stands after those before it, because only there
    its subject is named.

    >>> with_subject(("How much is a permit", "who approves it?", "where is the office?"))
    ('How much is a permit', 'How much is a permit? who approves it?', 'where is the office?')
    """
    ended = [question if question.endswith("?") else f"{question}?" for question in questions]
    return tuple(
        " ".join([*ended[:number], question]) if _PRONOUN.search(question) else question
        for number, question in enumerate(questions)
    )
