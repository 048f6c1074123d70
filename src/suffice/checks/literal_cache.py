"""Caches the literals of passages, separately and joined."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from suffice.checks.claim_text import with_metadata
from suffice.text.literals import APART, Literal, Reading
from suffice.types import Passage

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Held:
    """Passages parsed as one text, with the offset of each passage in it."""

    reading: Reading
    passages: tuple[Passage, ...]
    starts: tuple[int, ...]

    def place(self, literal: Literal) -> tuple[str, Span | None]:
        """The id of the passage that contains a literal, and its span there. The span is `None` if
        the literal is in the document's metadata."""
        number = bisect_right(self.starts, literal.start) - 1
        passage, start = self.passages[number], self.starts[number]
        span = literal.start - start, literal.end - start
        return passage.id, span if span[1] <= len(passage.text) else None


@dataclass(frozen=True, slots=True)
class LiteralCache:
    """Parses each passage on first use."""

    passages: tuple[Passage, ...]
    _readings: dict[str, Reading] = field(default_factory=dict)
    _held: dict[tuple[str, ...], Held] = field(default_factory=dict)

    def hold(self, passages: Sequence[Passage] = ()) -> Held:
        """The given passages as one text, or all passages if none are given."""
        chosen = tuple(passages) or self.passages
        key = tuple(passage.id for passage in chosen)
        if key not in self._held:
            readings = [self._read(passage) for passage in chosen]
            sizes = (len(one.text) + len(APART) for one in readings[:-1])
            starts = tuple(accumulate(sizes, initial=0))
            self._held[key] = Held(Reading.joined(readings), chosen, starts)
        return self._held[key]

    def _read(self, passage: Passage) -> Reading:
        if passage.id not in self._readings:
            self._readings[passage.id] = Reading.of(with_metadata(passage))
        return self._readings[passage.id]
