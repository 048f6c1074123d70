"""One pattern of prompt injection, and where it may occur."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Text that precedes an order: "who ignore the rules" and "do not ignore the rules" are none.
_BEFORE = re.compile(
    r"(?:^|[.!?;:,()\[\]<>\"“”'’*#|–—\n-]\s?|"
    r"\b(?:please|now|and|then|instead|must|should|you\swill|just|simply|kindly|first|"
    r"(?:are|have|need|you)\sto)\s)$"
)
_REACH = 12
"""How many characters back `_BEFORE` looks."""


@dataclass(frozen=True, slots=True)
class Way:
    """One injection pattern. `words`: search only texts that contain one of them; `order`: match
    only where an order may begin; the group `said` is the instructing text."""

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
    pattern = "".join(parts).replace(" ", r"\s")  # lines may be wrapped anywhere
    return Way(tuple(words.split()), re.compile(pattern), order)
