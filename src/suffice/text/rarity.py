"""Rates how informative a word is: "the" not at all, "Germany" a little, "Winteler" a lot.

Levels are based on the number of passages of the training rows that contain the word
(`training/rarity.py` writes the counts to `rarity.txt`); a word in few or none of them is rare.
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
    """From 0, for a word that is everywhere, to 1; `word` is normalised."""
    return _levels().get(word, LEVELS) / LEVELS


def stem_rarity(word: str) -> float:
    """The rarity of the commonest word with the same stem: "expires" is as common as "expired"."""
    return _stem_levels().get(stem(word), LEVELS) / LEVELS


def weight(words: Iterable[str]) -> float:
    """The total weight of words; summed in a fixed order, so that the result is the same in every
    process."""
    return sum(rarity(word) for word in sorted(words))


@cache
def _levels() -> dict[str, int]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {word: level for level, line in enumerate(lines) for word in line.split()}


@cache
def _stem_levels() -> dict[str, int]:
    found: dict[str, int] = {}
    for word, level in _levels().items():
        found.setdefault(stem(word), level)  # the commonest words come first
    return found
