"""Rates how informative a word is: "the" not at all, "Germany" a little, "Winteler" a lot.

The levels come from the number of training passages that contain the word. `training/rarity.py`
writes them to `rarity.txt`. A word that is not listed is rare.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from suffice.text.stems import stem

FILE = Path(__file__).with_name("rarity.txt")
LEVELS = 4
WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")


def folded(text: str) -> Iterator[str]:
    """The words of a text, normalised for comparison: lower case, 4,000 as 4000."""
    for found in WORD.finditer(text):
        yield fold(found[0])


def fold(word: str) -> str:
    return unicodedata.normalize("NFKC", word).lower().replace(",", "")


def rarity(word: str) -> float:
    """The rarity of a normalised word, from 0 (common everywhere) to 1."""
    return _levels().get(word, LEVELS) / LEVELS


def stem_rarity(word: str) -> float:
    """The rarity of the most common word with this stem: "expires" is as common as "expired"."""
    return _stem_levels().get(stem(word), LEVELS) / LEVELS


def weight(words: Iterable[str]) -> float:
    """The total rarity of words, added in a fixed order so that every process gets the same sum."""
    return sum(rarity(word) for word in sorted(words))


@cache
def _levels() -> dict[str, int]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {word: level for level, line in enumerate(lines) for word in line.split()}


@cache
def _stem_levels() -> dict[str, int]:
    found: dict[str, int] = {}
    for word, level in _levels().items():
        found.setdefault(stem(word), level)  # common words come first
    return found
