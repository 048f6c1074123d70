"""The passages at hand, each read for its literals once, in any combination."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from suffice.checks.claim_text import told
from suffice.text.literals import APART, Literal, Reading
from suffice.types import Passage

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Held:
    """Passages read as one text; `starts` says where each of them begins in it."""

    reading: Reading
    passages: tuple[Passage, ...]
    starts: tuple[int, ...]

    def place(self, literal: Literal) -> tuple[str, Span | None]:
        """The id of the passage a literal stands in, and its span there; no span where it is what
        is known of the document, not its text."""
        number = bisect_right(self.starts, literal.start) - 1
        passage, start = self.passages[number], self.starts[number]
        span = literal.start - start, literal.end - start
        return passage.id, span if span[1] <= len(passage.text) else None


@dataclass(frozen=True, slots=True)
class LiteralCache:
    """Reads a passage when it is first asked for."""

    passages: tuple[Passage, ...]
    _readings: dict[str, Reading] = field(default_factory=dict)
    _held: dict[tuple[str, ...], Held] = field(default_factory=dict)

    def hold(self, passages: Sequence[Passage] = ()) -> Held:
        """These passages together; none named: all."""
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
            self._readings[passage.id] = Reading.of(told(passage))
        return self._readings[passage.id]
