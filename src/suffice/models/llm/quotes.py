"""Checks whether a quote occurs literally in a passage.

White space, line breaks, case, invisible characters and the style of quotation marks and dashes are
ignored, and so are the marks of lists, tables, headings and emphasis.
Letters and digits must match in order. A quote cannot begin or end inside a word or number: "18
weeks of leave" does not occur in "118 weeks of leave".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORDS = 3
_LETTERS = 12
"""A quote needs this many words or this many letters, because some scripts have no spaces."""
_LONGEST = 4_000
_SHAPES = str.maketrans(dict.fromkeys('"“”„‟«»‘’‚‛‹›`´′″', "'") | dict.fromkeys("‐‑‒–—―−", "-"))
_ELIDED = re.compile(r" ?[\[(]?\.{3,}[\])]? ?")
_EMPHASIS = re.compile(r"(?<!\w)[*`]|[*`](?!\w)")
_DOTS = re.compile(r"\.{3}|…")
_ITEM = re.compile(r"\d{1,3}[.)]")
_UNSPACED = "\u2e80"
"""The first character of scripts without spaces between words."""


@lru_cache(maxsize=512)  # so that a passage is normalised once for all claims of an answer
def folded(text: str) -> str:
    """The text normalised for comparing quotes."""
    seen = "".join(char for char in text if unicodedata.category(char) != "Cf")
    plain = unicodedata.normalize("NFKC", seen).casefold().translate(_SHAPES)
    return " ".join(plain.split())


@lru_cache(maxsize=512)
def unmarked(text: str, *, counted: bool) -> str:
    """The text without the marks of lists, tables, headings, code and emphasis, as a reader quotes
    it; the numbers of list items stay if `counted`."""
    lines = (line.replace("|", " ").split() for line in text.split("\n"))
    kept = (
        line if counted or not line or not _ITEM.fullmatch(line[0]) else line[1:] for line in lines
    )
    words = (_EMPHASIS.sub("", word) for line in kept for word in line)
    return " ".join(word for word in words if any(map(str.isalnum, word)) or _DOTS.search(word))


def place_of(quote: str, passages: Sequence[str], named: int | None = None) -> int | None:
    """The passage that contains the quote: the passage it names, or else the first that does.
    `None` if no passage contains it or it is too short."""
    order = [n for n in (named,) if n is not None and 0 <= n < len(passages)]
    order += (n for n in range(len(passages)) if n != named)
    return next((n for n in order if occurs_in(quote, passages[n])), None)


def occurs_in(quote: str, passage: str) -> bool:
    """Whether a quote occurs in a passage. Parts separated by "..." must occur in order."""
    if len(quote) > _LONGEST:
        return False
    if _occurs(quote, passage):
        return True
    return any(
        _occurs(unmarked(quote, counted=counted), unmarked(passage, counted=counted))
        for counted in (True, False)
    )


def _occurs(quote: str, passage: str) -> bool:
    words, text = folded(quote).strip("' "), folded(passage)
    return _in_order([words], text) or _in_order(_ELIDED.split(words), text)


def _in_order(parts: Iterable[str], text: str) -> bool:
    """Whether every part is long enough and follows the previous part."""
    start = 0
    found = False
    for part in (part for part in parts if part):
        match = _pattern(part).search(text, start) if _long_enough(part) else None
        if match is None:
            return False
        start, found = match.end(), True
    return found


def _long_enough(part: str) -> bool:
    letters = sum(char.isalnum() for char in part)
    return letters >= _LETTERS or len(re.findall(r"\w+", part)) >= _WORDS


def _pattern(part: str) -> re.Pattern[str]:
    before = r"(?<!\w)(?<!\d[.,])" if _parted(part[0]) else ""
    after = r"(?!\w)(?![.,]\d)" if _parted(part[-1]) else ""
    return re.compile(f"{before}{re.escape(part)}{after}")


def _parted(char: str) -> bool:
    return char.isalnum() and char < _UNSPACED
