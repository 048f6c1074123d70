"""A prompt injection pattern, and the contexts in which it counts as an order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Text that may precede an order. "who ignore the rules" and "do not ignore the rules" are none.
_BEFORE = re.compile(
    r"(?:^|[.!?;:,()\[\]<>\"“”'’*#|–—\n-]\s?|"
    r"\b(?:please|now|and|then|instead|must|should|you\swill|just|simply|kindly|first|"
    r"(?:are|have|need|you)\sto)\s)$"
)
_REACH = 12
"""How many characters `_BEFORE` may look back."""


@dataclass(frozen=True, slots=True)
class Way:
    """One injection pattern.

    Only texts that contain one of `words` are searched. With `order`, the pattern counts only where
    an order may begin. The group `said` marks the start of the instruction.
    """

    words: tuple[str, ...]
    pattern: re.Pattern[str]
    order: bool

    def places(self, plain: str) -> Iterator[int]:
        if not any(word in plain for word in self.words):
            return
        for match in self.pattern.finditer(plain):
            start = match.start("said")
            if not self.order or _BEFORE.search(plain, max(0, start - _REACH), start):
                yield start


def way(words: str, *parts: str, order: bool = False) -> Way:
    pattern = "".join(parts).replace(" ", r"\s")  # lines may wrap at any space
    return Way(tuple(words.split()), re.compile(pattern), order)
