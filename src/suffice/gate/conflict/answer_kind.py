"""Determines what a question asks for: a date, a number, a name, or anything else."""

from __future__ import annotations

import re
from enum import StrEnum

from suffice.text.words import auxiliaries

_DATE = re.compile(r"\b(?:when|date|(?:what|which) (?:year|day|month))\b")
_NUMBER = re.compile(
    r"\bhow (?:many|much|long|old|often|far|tall|high|large|big|fast|deep|wide)\b"
    r"|\b(?:population|length|height|number|percentage|median|average) of\b"
    r"|\b(?:population|median (?:age|income)|length|price|cost|amount)\b"
)
_NAME = re.compile(
    r"^who\b|\bwho(?:m|se)\b|\bwhere\b|\blocation of\b"
    r"|\b(?:what|which) (?:state|country|city|town|county|person)\b"
)
_TO_SOMEBODY = re.compile(r"\w+ (?:you|any(?:one|body)|some(?:one|body))\b")


class AnswerKind(StrEnum):
    """What a question asks for."""

    DATE = "date"
    NUMBER = "number"
    NAME = "name"
    ANYTHING = "anything"


def answer_kind(question: str) -> AnswerKind:
    """The kind of answer that the words of a question ask for."""
    folded = question.lower()
    if _yes_or_no(folded):
        return AnswerKind.ANYTHING
    if _DATE.search(folded):
        return AnswerKind.DATE
    if _NUMBER.search(folded):
        return AnswerKind.NUMBER
    return AnswerKind.NAME if _NAME.search(folded) else AnswerKind.ANYTHING


def _yes_or_no(folded: str) -> bool:
    """Whether a question can be answered with yes or no: it begins with an auxiliary that does not
    address anyone. "Is it paid when I am ill?" is such a question; "Can you tell me when it is
    paid?" is not."""
    question = folded.strip()
    return auxiliaries(question)[:1] == [0] and not _TO_SOMEBODY.match(question)
