"""Bare numbers in the arguments of a tool call, such as `{"days_per_week": 12}`.

A number that occurs in the evidence or in the conversation is passed on. Another number is checked
like an answer if its name shares a word with the question. The rest are listed in a note, because
they may be plain parameters, such as `{"top": 5}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from suffice.text.digest import word_prefixes
from suffice.text.literals import literals

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[\W_]+|\d+")
# "1,500" has a separator, "1,5" a decimal comma, which is no JSON number.
_GROUPED = re.compile(r",(?=\d{3}(?:\D|$))")
_LARGEST = 400
"""Maximum power of ten. Documents do not state larger numbers."""
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class Known:
    """The numbers of the evidence and the conversation, and the words of the question."""

    numbers: frozenset[Decimal] = frozenset()
    question: frozenset[str] = frozenset()
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, question: str, texts: Iterable[str]) -> Known:
        found: set[Decimal] = set()
        given = (question, *texts)
        for text in given:
            for literal in literals(text):
                found |= {one for one in (literal.amount, literal.value, literal.high) if one}
            found |= {one for run in _DIGITS.findall(text) if (one := number_in(run)) is not None}
        return cls(frozenset(found), word_prefixes(question), given)

    def has(self, number: Decimal) -> bool:
        return number in self.numbers

    def says(self, text: str) -> bool:
        """Whether the evidence or the conversation contains the text."""
        return any(text in one for one in self.texts)

    def lacks_number(self, text: str) -> bool:
        """Whether a text has a number that occurs in neither."""
        runs = (number_in(run) for run in _DIGITS.findall(text))
        return any(one is not None and not self.has(one) for one in runs)

    def asked_for(self, path: str) -> bool:
        """Whether the name of a number shares a word with the question."""
        return bool(word_prefixes(_words(path)) & self.question)


def number_in(value: object) -> Decimal | None:
    """A JSON number, or a string that is a number, as a decimal."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        found = Decimal(_GROUPED.sub("", str(value).strip()))
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found.adjusted()) <= _LARGEST else None


def stated(path: str, number: Decimal) -> str:
    """A named number as a sentence."""
    return f"The {_words(path)} is {number}."


def unknown_note(names: Iterable[str]) -> str:
    listed = ", ".join(f"'{name[:_LONGEST]}'" for name in names)
    return (
        "Not checked: numbers in tool arguments that are neither in the documents nor in the "
        f"conversation: {listed}."
    )


def unchecked_note(names: Iterable[str]) -> str:
    listed = ", ".join(f"'{name[:_LONGEST]}'" for name in names)
    return f"Not checked: text in tool arguments that states nothing: {listed}."


def _words(path: str) -> str:
    return " ".join(filter(None, _PARTS.split(path))).lower()
