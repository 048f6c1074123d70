"""A linear model of sentences that instruct their reader: a weight for each word, for each pair of
close words and for each triple, hashed into buckets. `training/instructions.py` makes its file."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FILE = Path(__file__).with_name("instructions.npz")
BUCKETS = 1 << 16
_WORDS = 30
"""Longer sentences are read in overlapping windows of this many words: a planted order is short."""
_FEWEST = 4
"""Shorter units are mostly headings and cells of tables."""
_REACH = 5
"""A pair of words counts if fewer than this many words apart."""
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+|[<>\[\]{}:\"#*%!|=]")
_BREAK = re.compile(r"(?<=[.!?])\s+|\n+|<!--|-->|</?\w[^<>]*>")
_LETTERS = re.compile(r"[a-z]{2,}")


@dataclass(frozen=True, slots=True)
class Model:
    weights: NDArray[np.float32]
    bias: float
    threshold: float

    def score(self, words: tuple[str, ...]) -> float:
        found = buckets(words)
        return float(self.weights[list(found)].sum()) / float(np.sqrt(len(found))) + self.bias

    def suspicion(self, plain: str) -> float:
        """The score of the sentence that looks most like an instruction. `plain` is in lower
        case."""
        return max((self.score(words) for _, words in windows(plain)), default=-math.inf)


@cache
def model() -> Model:
    with np.load(FILE) as read:
        weights = read["weights"].astype(np.float32) * read["scale"]
        return Model(weights, float(read["bias"]), float(read["threshold"]))


def windows(plain: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The start and the words of each sentence, or of each part of a long one. `plain` is in lower
    case."""
    start = 0
    for stop in (*(found for found in _BREAK.finditer(plain)), None):
        end = stop.start() if stop else len(plain)
        yield from _parts(plain, start, end)
        start = stop.end() if stop else end


def _parts(plain: str, start: int, end: int) -> Iterator[tuple[int, tuple[str, ...]]]:
    if len(_LETTERS.findall(plain, start, end)) < _FEWEST:
        return
    found = list(_WORD.finditer(plain, start, end))
    for first in range(0, max(1, len(found) - _WORDS // 2), _WORDS // 2):
        words = found[first : first + _WORDS]
        numbered = ("0" if word[0].isdigit() else word[0] for word in words)
        yield words[0].start(), ("^" if first == 0 else "…", *numbered, "$")


def buckets(words: tuple[str, ...]) -> frozenset[int]:
    """The buckets of a window. Its first and last item mark its ends."""
    found = set(words[1:-1])
    for place, word in enumerate(words[:-1]):
        found.add(f"{word} {words[place + 1]}")
        found.update(f"{word}~{other}" for other in words[place + 2 : place + _REACH])
        if place + 2 < len(words):
            found.add(" ".join(words[place : place + 3]))
    return frozenset(zlib.crc32(name.encode()) % BUCKETS for name in found)
