"""Questions: validation, the single questions of a text, and the kind of answer expected."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from suffice.errors import QuestionError
from suffice.text.literals import LiteralKind, literals
from suffice.text.literals.values import QUANTITIES
from suffice.text.words import STOP_WORDS, listed

LONGEST_QUESTION = 8_000


def checked_question(question: str) -> str:
    """Return the question, stripped and without NUL characters. Raise `QuestionError` if it is
    unusable."""
    if not isinstance(question, str):
        kind = "None" if question is None else type(question).__name__
        raise QuestionError(
            f"The question must be text, not {kind}.", remedy="Ask a question in words."
        )
    asked = question.replace("\0", "\ufffd").strip()  # PostgreSQL stores no NUL
    try:
        asked.encode()
    except UnicodeEncodeError:
        raise QuestionError("The question is not valid text.", remedy="Send it as UTF-8.") from None
    if not asked:
        raise QuestionError("The question is empty.", remedy="Ask a question in words.")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(
            f"The question has {len(asked):,} characters, over the limit of {LONGEST_QUESTION:,}.",
            remedy="Shorten the question, or add the long text as a document.",
        )
    return asked


def unnamed(subject: str, question: str) -> str:
    """The subject of the documents if the question does not name it; otherwise empty.

    >>> unnamed("Frigate", "Which Debian versions are supported?")
    'Frigate'
    """
    named = re.search(rf"(?<!\w){re.escape(subject)}(?!\w)", question, re.IGNORECASE)
    return "" if named else subject


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


_PLURAL = re.compile(r"[^s]s$", re.I)
_LENGTHS = frozenset("second minute hour day night week month quarter year decade".split())
_MONEY = re.compile(
    r"\b(?:costs?|charges?|charged|pay|pays|paid|prices?|money|spend|spent|fees?|fares?|salary|"
    r"salaries|bonus|budget|wages?|earn|reimburse\w*|refund\w*|worth|euros?|dollars?|pounds?|"
    r"revenue|profit|fine|rent|deposit|allowance|contribut\w+)\b",
    re.I,
)
_TIMED = re.compile(r"\b(?:leave|notice|time|holiday|vacation|absence|experience|delay)\b", re.I)
_HOW_MANY = re.compile(
    r"\bhow many\s+(?:more\s+|other\s+|additional\s+|extra\s+|further\s+)?(?=\w)", re.I
)
_HOW_MUCH = re.compile(r"\bhow much\b", re.I)
_HOW_LONG = re.compile(r"\bhow long\b(?! ago)|\bhow (?:soon|quickly|early|late)\b", re.I)
_HOW_BIG = re.compile(
    r"\bhow (?:far|deep|tall|high|heavy|fast|old|big|large|wide|hot|cold|small|expensive)\b", re.I
)
_WHEN = re.compile(
    r"^\W*(?:(?:by|since|until|till|from|and|so)\s+)?when\b|"
    r"\b(?:what|which) (?:date|year|month|day|weekday|time|century|deadline)\b|"
    r"[;,:]\s*(?:by |since |until )?when (?:do|does|did|is|are|was|were|will|can|must|may)\b",
    re.I,
)
_AT_WHAT_TIME = re.compile(
    r"^\W*(?:(?:by|since|until|till|from|and|so)\s+)?"
    r"when (?:is|are|was|were|did|does|do|will|must)\b|"
    r"\b(?:what|which) (?:date|year|month|day|weekday|time|century|deadline)\b",
    re.I,
)
_CONDITION = re.compile(r"\b(?:if|once|after|before|unless|when(?:ever)?|until|as soon as)\b", re.I)
_PERCENTAGE = re.compile(r"\b(?:what|which) (?:percentage|percent|share|proportion)\b", re.I)
_WHAT_AMOUNT = re.compile(
    r"\b(?:what|which) (?:is|are|was|were)?\s*(?:the\s+)?(?:maximum |minimum |average |total )?"
    r"(?:amount|price|cost|fee|fare|salary|budget)\b",
    re.I,
)


class Answer(StrEnum):
    """The type of answer a question expects."""

    AMOUNT = "amount"
    NUMBER = "number"
    DURATION = "length of time"
    DATE = "date"
    PERCENTAGE = "percentage"
    FIGURE = "figure"


KINDS = {
    Answer.AMOUNT: {LiteralKind.MONEY, LiteralKind.PERCENTAGE, LiteralKind.FRACTION},
    Answer.NUMBER: {LiteralKind.NUMBER, LiteralKind.PERCENTAGE, LiteralKind.FRACTION},
    Answer.DURATION: {LiteralKind.DURATION, LiteralKind.DATE, LiteralKind.TIME},
    Answer.DATE: {
        LiteralKind.DATE, LiteralKind.TIME, LiteralKind.DURATION, LiteralKind.ORDINAL,
    },
    Answer.PERCENTAGE: {LiteralKind.PERCENTAGE, LiteralKind.FRACTION, LiteralKind.RATIO},
    Answer.FIGURE: {*QUANTITIES, LiteralKind.RATIO},
}  # fmt: skip
"""The kinds of literal that can answer a question of each type."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected answer: its type, and what is counted ("how many employees")."""

    answer: Answer
    of: str = ""


def expected(question: str) -> Expected | None:
    """The type of answer a question expects, or `None` if any type is possible."""
    if many := _HOW_MANY.search(question):
        counted = _counted(question, many.end())
        if listed(counted.split()[-1].lower(), _LENGTHS):
            return Expected(Answer.DURATION)
        return Expected(Answer.NUMBER, counted)
    if _PERCENTAGE.search(question):
        return Expected(Answer.PERCENTAGE)
    if _HOW_MUCH.search(question):
        timed = _TIMED.search(question) and not re.search(r"\bmoney\b", question, re.I)
        return Expected(Answer.AMOUNT if _MONEY.search(question) and not timed else Answer.FIGURE)
    if _WHAT_AMOUNT.search(question):
        return Expected(Answer.AMOUNT)
    if _HOW_LONG.search(question):
        return Expected(Answer.DURATION)
    if _HOW_BIG.search(question):
        return Expected(Answer.FIGURE)
    return Expected(Answer.DATE) if _WHEN.search(question) else None


def lacking(question: str, answer: str) -> str:
    """The type of answer the question expects, if the given answer lacks it; otherwise empty."""
    wanted = expected(question)
    if wanted is None or any(one.kind in KINDS[wanted.answer] for one in literals(answer)):
        return ""
    # "When do I need a permit?" may be answered with a condition instead of a date.
    any_time = not _AT_WHAT_TIME.search(question) or _CONDITION.search(answer)
    return "" if wanted.answer is Answer.DATE and any_time else wanted.answer.value


def _counted(question: str, start: int) -> str:
    """What "how many" asks to count: the words up to the first plural, or else the first word."""
    words = [word.strip("?,.") for word in question[start:].split()]
    run = list(takewhile(lambda word: word.lower() not in STOP_WORDS, words))
    plural = next((place for place, word in enumerate(run) if _PLURAL.search(word)), 0)
    return " ".join(run[: plural + 1]) or words[0]
