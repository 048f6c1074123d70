"""The kind of thing a question asks for: a date, a number, a name, or anything."""

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
    """What sort of thing a question asks for."""

    DATE = "date"
    NUMBER = "number"
    NAME = "name"
    ANYTHING = "anything"


def answer_kind(question: str) -> AnswerKind:
    """The kind a question asks for, by its own words."""
    folded = question.lower()
    if _yes_or_no(folded):
        return AnswerKind.ANYTHING
    if _DATE.search(folded):
        return AnswerKind.DATE
    if _NUMBER.search(folded):
        return AnswerKind.NUMBER
    return AnswerKind.NAME if _NAME.search(folded) else AnswerKind.ANYTHING


def _yes_or_no(folded: str) -> bool:
    """Whether a question asks for no more than a yes: it begins with an auxiliary and not by asking
    somebody. "Is it paid when I am ill?" does, "Can you tell me when it is paid?" does not."""
    question = folded.strip()
    return auxiliaries(question)[:1] == [0] and not _TO_SOMEBODY.match(question)
