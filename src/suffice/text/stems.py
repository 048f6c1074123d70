"""Stems of English words: "policy" and "policies" have the same stem."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache

from snowballstemmer import stemmer

_LONGEST = 40
_TOKEN = re.compile(r"[^\W_]+")
# The words that keyword search does not count either, so that both agree on what a text is about.
_UNCOUNTED = frozenset(
    """
    a about above after again against ain all am an and any are aren as at be because been before
    being below between both but by can couldn d did didn do does doesn doing don down during each
    few for from further had hadn has hasn have haven having he her here hers herself him himself
    his how i if in into is isn it its itself just ll m ma me mightn more most mustn my myself needn
    no nor not now o of off on once only or other our ours ourselves out over own re s same shan she
    should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up ve very was wasn we were weren what when where which
    while who whom why will with won wouldn y you your yours yourself yourselves
    """.split()
)


def stem(word: str) -> str:
    """The Snowball stem in lower case. A string too long to be a word is unchanged."""
    low = word.lower()
    return low if len(low) > _LONGEST else _stem(low)


def stems(text: str) -> frozenset[str]:
    """The stems of a text's counted words: "orders" and "order" have the same stem."""
    return frozenset(map(stem, set(_TOKEN.findall(text.lower())) - _UNCOUNTED))


def listed(word: str, words: Set[str]) -> bool:
    """Whether `words` contains a word or its singular. Stricter than comparing stems: "several" and
    "severance" have the same stem."""
    return word in words or word.removesuffix("s") in words


@lru_cache(maxsize=1 << 16)
def _stem(low: str) -> str:
    return str(stemmer("english").stemWord(low))  # stemmers are cheap to create but not thread-safe
