"""The search index protocol. An index is derived from the store and can be rebuilt at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from suffice.evidence.rows import Vectors, VersionInfo
from suffice.text.times import TimeAsked, When
from suffice.types import Kind, Passage

PUBLIC = "*"
"""The access label of a document that declares none."""


def today() -> date:
    """The day (UTC) that decides whether documents are in force, independent of the server's time
    zone."""
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Filter:
    """Hard conditions on the passages a search may return.

    A passage must belong to the collection and to one of the kinds (empty: all), be public or carry
    one of the caller's labels, and be in force on `as_of` (`None`: the day of the search). With
    `through` it must be in force on any day from `as_of` to `through`; with `past` it must no
    longer be in force on `as_of`; with `history` dates are ignored.
    """

    as_of: date | None = None
    history: bool = False
    collection: str = "default"
    kinds: frozenset[Kind] = frozenset()
    labels: frozenset[str] = frozenset()
    through: date | None = None
    past: bool = False

    def dated(self) -> Filter:
        """The filter with an explicit day, so that one search uses one day throughout."""
        return self if self.as_of else replace(self, as_of=today())

    def allows(self, passage: Passage) -> bool:
        return (
            self.may_read(passage)
            and (not self.kinds or passage.kind in self.kinds)
            and (self.history or self._in_force(passage))
        )

    def may_read(self, passage: Passage | VersionInfo) -> bool:
        """Whether the caller may read the passage, in force or not."""
        labels = passage.access or {PUBLIC}
        return passage.collection == self.collection and bool(labels & (self.labels | {PUBLIC}))

    def _in_force(self, passage: Passage) -> bool:
        day = self.as_of or today()
        since, until = passage.since or date.min, passage.until or date.max
        if since >= until:
            return False  # replaced before it took effect
        return until <= day if self.past else since <= (self.through or day) and day < until

    def at(self, when: When, today: date) -> tuple[Filter, ...]:
        """The searches for a time asked about, the main one first.

        Searches for what is not in force come last, so that the results can be named as left out.
        """
        now = replace(self, as_of=today, through=None, past=False, history=False)
        every = replace(now, history=True)
        if when.asked is TimeAsked.EVER:
            return (every,)
        if when.asked is TimeAsked.NAMED:
            return every, now
        if when.asked is TimeAsked.BEFORE:
            return replace(now, past=True), now
        if when.asked is TimeAsked.THEN:
            last = when.until - timedelta(days=1)
            then = replace(now, as_of=when.start, through=last)
            return (then, every) if when.firm else (then, now, every)
        return now, every


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage's number with its raw scores: cosine (`None` without a vector) and BM25."""

    number: int
    similarity: float | None
    keywords: float


class Index(Protocol):
    """Finds passages. Every hit has both scores, whichever search found it."""

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        """The union of the `limit` nearest passages by vector and the `limit` best by BM25."""
        ...

    def score(
        self, vector: Vectors | None, text: str, allowed: Filter, numbers: Sequence[int]
    ) -> list[Hit]:
        """Both scores of passages that another search found."""
        ...
