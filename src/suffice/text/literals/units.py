"""Reads the unit or currency after a number."""

from __future__ import annotations

import re
from functools import lru_cache

from suffice.text.literals.measures import in_other_case, measure
from suffice.text.literals.money import money
from suffice.text.literals.values import LiteralKind, Unit
from suffice.text.words import STOP_WORDS

# A single letter is a unit only if it cannot be a word or a name.
_LETTERS = frozenset({"m", "g", "h", "l", "s", "L", "V", "W"})
_ADJECTIVE = (
    r"(?:(?:consecutive|calendar|full|additional|extra|further|more|paid|unpaid|whole|entire|"
    r"straight|"
    r"long|fiscal|school|academic|continuous|successive|completed|solid|short|bonus)[ -])?"
)
_WORD = r"(?:U\.S\.|sq\.|°[CF]?|[%¢€£¥₹₽₩₪₱₫]|[A-Za-zµμ]{1,16}(?:/[hs](?!\w))?[²³23]?)"
_AFTER = re.compile(
    r"(?P<gap>-|\u2011|[ \t\u00a0\u202f\u2009]?\n?[ \t]{0,2})"
    rf"(?P<adj>{_ADJECTIVE})(?P<words>{_WORD}(?:[ -]{_WORD}){{0,2}})"
)
# "IU", "BTU", "mEq", but not "NGOs" or longer words in capitals.
_SYMBOL = re.compile(r"[ \u00a0\u202f]?(?P<word>(?![A-Z]+s\b|[A-Z]{4})[A-Za-zµμ]{2,5})(?![\w-])")
_CAPITAL = re.compile(r" [A-Z]")
_NEXT = re.compile(r" ([A-Za-z]+)")


def unit_after(text: str, at: int) -> tuple[Unit | None, int]:
    """The unit or currency at `at`, after an optional space or hyphen, and its end. Without a unit,
    the end is `at`."""
    found = _AFTER.match(text, at)
    if not found:
        return None, at
    start, end = found.span("words")
    while end > start:
        written = text[start:end]
        if not text[end : end + 1].isalnum() and (unit := named(written)):
            # "31 W Carrillo St" is an address.
            initial = written.isupper() and bool(_CAPITAL.match(text, end))
            short = len(written) == 1 and (initial or bool(found["adj"]))
            hyphened = written.lower() == "min" and found["gap"] == "-"
            return (None, at) if short or hyphened else (unit, end)
        end = start + max(written.rfind(" "), written.rfind("-"), 0)
    return None, at


def unknown_after(text: str, at: int) -> tuple[Unit | None, int]:
    """An unknown unit symbol as a unit that equals only itself: "500 IU", "5 mw"."""
    found = _SYMBOL.match(text, at)
    if not found or not text[at - 1].isdigit():
        return None, at
    word = found["word"]
    following = _NEXT.match(text, found.end())
    # In "5 NBA titles", the number counts titles.
    counted = following and following[1].lower() not in STOP_WORDS
    if in_other_case(word) or (word[1:] != word[1:].lower() and not counted):
        return Unit(LiteralKind.MEASURE, word), found.end()
    return None, at


@lru_cache(maxsize=16384)
def named(written: str) -> Unit | None:
    """The unit or currency named by a word or phrase: "kg", "working days", "Swiss francs"."""
    phrase = written.replace("-", " ").replace("sq.", "sq").replace(" an hour", " per hour")
    if len(phrase) == 1 and phrase.isalpha() and phrase not in _LETTERS:
        return None
    return measure(phrase) or money(phrase)
