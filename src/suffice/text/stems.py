"""Stems of English words: "policy" and "policies" have the same stem."""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache

from snowballstemmer import stemmer

_LONGEST = 40


def stem(word: str) -> str:
    """The Snowball stem in lower case. A string too long to be a word is unchanged."""
    low = word.lower()
    return low if len(low) > _LONGEST else _stem(low)


def listed(word: str, words: Set[str]) -> bool:
    """Whether `words` contains a word or its singular. Stricter than comparing stems: "several" and
    "severance" have the same stem."""
    return word in words or word.removesuffix("s") in words


@lru_cache(maxsize=1 << 16)
def _stem(low: str) -> str:
    return str(stemmer("english").stemWord(low))  # stemmers are cheap to create but not thread-safe
