"""The search index: one protocol, derived from the store, rebuilt from it at any time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Protocol

from suffice.evidence.rows import Vectors
from suffice.types import Kind, Passage

PUBLIC = "*"
"""The access mark of a document that declares no labels."""


def today() -> date:
    """The day by which documents are in force or not, the same wherever the server stands."""
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Filter:
    """What may be found at all. Every condition is hard.

    A passage is found if it was in force on `as_of` (`None`: on the day of the search), or
    `history` is asked for; belongs to the collection and to one of the kinds (none named: all);
    and is public or carries a label of the caller's.
    """

    as_of: date | None = None
    history: bool = False
    collection: str = "default"
    kinds: frozenset[Kind] = frozenset()
    labels: frozenset[str] = frozenset()

    def dated(self) -> Filter:
        """With its day named, so that one search has one day."""
        return self if self.as_of else replace(self, as_of=today())

    def allows(self, passage: Passage) -> bool:
        return (
            self.may_read(passage)
            and (not self.kinds or passage.kind in self.kinds)
            and (self.history or self._in_force(passage))
        )

    def may_read(self, passage: Passage) -> bool:
        """Whether the caller has a right to it, in force or not."""
        labels = passage.access or {PUBLIC}
        return passage.collection == self.collection and bool(labels & (self.labels | {PUBLIC}))

    def _in_force(self, passage: Passage) -> bool:
        day = self.as_of or today()
        return (passage.since or date.min) <= day < (passage.until or date.max)


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage's number with its raw scores: cosine (`None` without a vector) and BM25."""

    number: int
    similarity: float | None
    keywords: float


class Index(Protocol):
    """Finds passages. Both scores are given for every hit, whichever way it was found."""

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        """The union of the `limit` nearest by vector and the `limit` best by words."""
        ...
