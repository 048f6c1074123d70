"""The kind of thing a question asks for: a date, a number, a name, or anything."""

from __future__ import annotations

import re
from enum import StrEnum

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


class AnswerKind(StrEnum):
    """What sort of thing a question asks for."""

    DATE = "date"
    NUMBER = "number"
    NAME = "name"
    ANYTHING = "anything"


def answer_kind(question: str) -> AnswerKind:
    """The kind a question asks for, by its own words."""
    folded = question.lower()
    if _DATE.search(folded):
        return AnswerKind.DATE
    if _NUMBER.search(folded):
        return AnswerKind.NUMBER
    return AnswerKind.NAME if _NAME.search(folded) else AnswerKind.ANYTHING
