"""Masks personal data before a record is written.

Masking replaces letters by x and digits by # and keeps everything else. The length of a text does
not change, so all spans in a record stay valid.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.errors import SettingsError
from suffice.settings import RecordSettings

_EMAIL = re.compile(r"(?<![\w.+'-])[\w.+'-]+@(?:[\w-]+\.)+[^\W\d_]{2,}")
_CARD = re.compile(r"(?<![\w-])[0-9](?:[ -]?[0-9]){12,18}(?![\w-])")
# Numbers with a country code, with an area code in brackets, with a trunk prefix, or grouped 3-3-4.
# Anything that could be a date, a year range, an amount or a section number is not masked.
_PHONE = re.compile(
    r"(?<![\w.+/-])(?:"
    r"\+[0-9]{1,3}(?:[ ./-]?\(?[0-9]{1,4}\)?){2,6}"
    r"|\([0-9]{2,5}\)[ ./-]?[0-9]{2,4}(?:[ ./-]?[0-9]{2,5}){1,3}"
    r"|0[0-9]{1,4}[ /-][0-9]{2,4}(?:[ -]?[0-9]{2,5}){1,3}"
    r"|0[0-9]{9,10}"
    r"|[0-9]{3}[ .-][0-9]{3}[ .-][0-9]{4}"
    r")(?![\w-]|[./][0-9])"
)
# Card and phone numbers occur only within such a run; most texts contain none and are skipped.
_RUN = re.compile(r"[+(0-9][0-9 ()./-]{7,}")
_BEYOND = 2
"""The number of characters after a run that a pattern examines."""
_DATE = re.compile(r"0?\d[/-]\d{1,2}[/-]\d{2,4}\Z")
_FEWEST, _MOST = 8, 15
_DIGIT = re.compile(r"\d")

# Identifiers are not masked, because masked ones would no longer identify anything.
NAMES = frozenset(
    "id document version content_hash passage_id family collection access check policy drafter "
    "record records setup certificate kind support code level action grade span effective expires "
    "since until day before when".split()
)
_PLAIN = frozenset((int, float, bool, type(None)))


def mask(text: str) -> str:
    """The text with letters replaced by x and digits by #."""
    return "".join("#" if c.isdigit() else "x" if c.isalpha() else c for c in text)


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _card(text: str) -> bool:
    digits = "".join(_DIGIT.findall(text))
    return digits.isascii() and digits.strip("0") != "" and _luhn(digits)


def _phone(text: str) -> bool:
    return _FEWEST <= len(_DIGIT.findall(text)) <= _MOST and not _DATE.match(text)


@dataclass(frozen=True, slots=True)
class _Sort:
    """A kind of personal data. `is_one` confirms a match of the pattern; a `number` occurs only
    within a run of digits."""

    name: str
    pattern: re.Pattern[str]
    is_one: Callable[[str], bool] = bool
    number: bool = False

    def spans(self, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """The confirmed matches in a part of a text."""
        for match in self.pattern.finditer(text, start, end):
            if self.is_one(match.group()):
                yield match.span()


@dataclass(frozen=True, slots=True)
class Masks:
    """The kinds of data to mask, in order."""

    sorts: tuple[_Sort, ...]
    own: bool = False
    """Whether the settings add patterns. These may match any text, so no text can be skipped."""

    @classmethod
    def of(cls, settings: RecordSettings) -> Masks:
        ours = (
            (settings.mask_emails, _Sort("e-mail address", _EMAIL)),
            (settings.mask_cards, _Sort("card number", _CARD, _card, number=True)),
            (settings.mask_phones, _Sort("phone number", _PHONE, _phone, number=True)),
        )
        own = (_Sort(f"pattern {n}", _compiled(p)) for n, p in enumerate(settings.mask_patterns, 1))
        return cls((*(sort for on, sort in ours if on), *own), bool(settings.mask_patterns))

    def text(self, text: str, counts: Counter[str]) -> str:
        """The masked text; the number of masks per kind is added to `counts`."""
        runs = [match.span() for match in _RUN.finditer(text)]
        found: list[tuple[int, int]] = []
        for sort in self.sorts:
            parts = runs if sort.number else [(0, len(text))]
            mine = [span for a, b in parts for span in sort.spans(text, a, b + _BEYOND)]
            if mine:
                counts[sort.name] += len(mine)
                found += mine
        return _hidden(text, sorted(found)) if found else text

    def tree(self, value: Any, counts: Counter[str]) -> Any:
        """A JSON tree with every string masked except identifiers."""
        if not self.own:
            text = "\n".join(_texts(value))  # fast path: most trees contain nothing to mask
            if "@" not in text and not _RUN.search(text):
                return value
        return self._masked(value, counts)

    def _masked(self, value: Any, counts: Counter[str]) -> Any:
        if isinstance(value, str):
            return self.text(value, counts)
        if isinstance(value, Mapping):
            return {
                key: entry if key in NAMES else self._masked(entry, counts)
                for key, entry in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._masked(entry, counts) for entry in value]
        return value


def _texts(tree: Any) -> list[str]:
    """All texts in a tree except identifiers."""
    found: list[str] = []
    left = [tree]
    for value in left:
        if type(value) is dict:
            for key, entry in value.items():
                if type(entry) is str:
                    if key not in NAMES:
                        found.append(entry)
                elif type(entry) not in _PLAIN and key not in NAMES:
                    left.append(entry)
        elif type(value) is str:
            found.append(value)
        elif type(value) not in _PLAIN:
            left += value.items() if isinstance(value, Mapping) else value
    return found


def _hidden(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """The text with the spans masked; spans may overlap."""
    pieces: list[str] = []
    done = 0
    for start, end in spans:
        pieces += (text[done : max(start, done)], mask(text[max(start, done) : end]))
        done = max(done, end)
    return "".join((*pieces, text[done:]))


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as problem:
        raise SettingsError(
            f"record.mask_patterns: {pattern!r} is not a valid regular expression: {problem}.",
            remedy="Use the syntax of Python's re module.",
        ) from problem
