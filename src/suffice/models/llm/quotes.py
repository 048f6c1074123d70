"""Checks whether a quote occurs literally in a passage.

White space, case, invisible characters and the shape of quotation marks and dashes are ignored.
Letters, digits and their order must match. A quote must not begin or end inside a word or a number:
"18 weeks of leave" does not occur in "118 weeks of leave".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORDS = 3
_SIGNS = 12
"""Minimum length of a quote: this many words or, in scripts without spaces between words, this many
letters."""
_LONGEST = 4_000
_SHAPES = str.maketrans(dict.fromkeys('"“”„‟«»‘’‚‛‹›`´′″', "'") | dict.fromkeys("‐‑‒–—―−", "-"))
_ELIDED = re.compile(r"\s*[\[(]?\.{3,}[\])]?\s*")
_UNPARTED = "\u2e80"
"""From this character on: scripts without spaces between words."""


@lru_cache(maxsize=512)  # a passage is processed once for all claims of an answer
def folded(text: str) -> str:
    """The normalised text for comparing quotes."""
    seen = "".join(char for char in text if unicodedata.category(char) != "Cf")
    plain = unicodedata.normalize("NFKC", seen).casefold().translate(_SHAPES)
    return " ".join(plain.split())


def place_of(quote: str, passages: Sequence[str], named: int | None = None) -> int | None:
    """The passage that contains the quote: the one it is attributed to, or the first other one.
    `None` if no passage contains it or the quote is too short."""
    order = [n for n in (named,) if n is not None and 0 <= n < len(passages)]
    order += (n for n in range(len(passages)) if n != named)
    return next((n for n in order if occurs_in(quote, passages[n])), None)


def occurs_in(quote: str, passage: str) -> bool:
    """Whether a quote of a few words occurs in a passage, whole or, if it elides text with "...",
    part by part in this order."""
    words, text = folded(quote).strip("' "), folded(passage)
    if len(words) > _LONGEST:
        return False
    return _in_order([words], text) or _in_order(_ELIDED.split(words), text)


def _in_order(parts: Iterable[str], text: str) -> bool:
    """Whether every part is long enough and begins after the previous one."""
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
