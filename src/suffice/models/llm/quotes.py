"""Whether a quote stands literally in a passage.

White space, case, invisible characters and the shape of quotation marks and dashes do not count.
Letters, digits and their order do. A quote does not begin or end inside a word or a number: "18
weeks of leave" does not stand in "118 weeks of leave".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORDS = 3
_SIGNS = 12
"""A quote has so many words or, where words are not parted by spaces, so many letters."""
_LONGEST = 4_000
_SHAPES = str.maketrans(dict.fromkeys('"“”„‟«»‘’‚‛‹›`´′″', "'") | dict.fromkeys("‐‑‒–—―−", "-"))
_ELIDED = re.compile(r"\s*[\[(]?\.{3,}[\])]?\s*")
_UNPARTED = "\u2e80"
"""From this character on, scripts that do not part words by spaces."""


@lru_cache(maxsize=512)  # a pure function; a passage is read once for all claims of an answer
def folded(text: str) -> str:
    """The text as quotes are compared."""
    seen = "".join(char for char in text if unicodedata.category(char) != "Cf")
    plain = unicodedata.normalize("NFKC", seen).casefold().translate(_SHAPES)
    return " ".join(plain.split())


def place_of(quote: str, passages: Sequence[str], named: int | None = None) -> int | None:
    """The passage that holds the quote: the one it is said to be from, or the first other one.
    `None`: it stands in none, or is too short to show anything."""
    order = [n for n in (named,) if n is not None and 0 <= n < len(passages)]
    order += (n for n in range(len(passages)) if n != named)
    return next((n for n in order if stands(quote, passages[n])), None)


def stands(quote: str, passage: str) -> bool:
    """Whether a quote of a few words stands in a passage, whole or, where it elides something with
    "...", part by part in this order."""
    said, text = folded(quote).strip("' "), folded(passage)
    if len(said) > _LONGEST:
        return False
    return _in_order([said], text) or _in_order(_ELIDED.split(said), text)


def _in_order(parts: Iterable[str], text: str) -> bool:
    """Every part is long enough and begins after the one before it."""
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
    return letters >= _SIGNS or len(re.findall(r"\w+", part)) >= _WORDS


def _pattern(part: str) -> re.Pattern[str]:
    before = r"(?<!\w)(?<!\d[.,])" if _parted(part[0]) else ""
    after = r"(?!\w)(?![.,]\d)" if _parted(part[-1]) else ""
    return re.compile(f"{before}{re.escape(part)}{after}")


def _parted(char: str) -> bool:
    return char.isalnum() and char < _UNPARTED
