"""The search index: one protocol, derived from the store, rebuilt from it at any time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from suffice.evidence.rows import Vectors, VersionInfo
from suffice.text.times import Asked, When
from suffice.types import Kind, Passage

PUBLIC = "*"
"""The access mark of a document that declares no labels."""


def today() -> date:
    """The day by which documents are in force or not, the same wherever the server stands."""
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Filter:
    """What may be found at all. Every condition is hard.

    A passage is found if it belongs to the collection and to one of the kinds (none named: all), is
    public or carries a label of the caller's, and was in force on `as_of` (`None`: on the day of
    the search). With `through` it may have been in force on any day from `as_of` to that one, with
    `past` it must be no longer in force on `as_of`, and with `history` the day does not matter.
    """

    as_of: date | None = None
    history: bool = False
    collection: str = "default"
    kinds: frozenset[Kind] = frozenset()
    labels: frozenset[str] = frozenset()
    through: date | None = None
    past: bool = False

    def dated(self) -> Filter:
        """With its day named, so that one search has one day."""
        return self if self.as_of else replace(self, as_of=today())

    def allows(self, passage: Passage) -> bool:
        return (
            self.may_read(passage)
            and (not self.kinds or passage.kind in self.kinds)
            and (self.history or self._in_force(passage))
        )

    def may_read(self, passage: Passage | VersionInfo) -> bool:
        """Whether the caller has a right to it, in force or not."""
        labels = passage.access or {PUBLIC}
        return passage.collection == self.collection and bool(labels & (self.labels | {PUBLIC}))

    def _in_force(self, passage: Passage) -> bool:
        day = self.as_of or today()
        since, until = passage.since or date.min, passage.until or date.max
        if since >= until:
            return False  # replaced before it ever held
        return until <= day if self.past else since <= (self.through or day) and day < until

    def at(self, when: When, today: date) -> tuple[Filter, ...]:
        """The searches that a time asked about takes, the one it is about first.

        What is not in force comes last, so that it can be named as left out.
        """
        now = replace(self, as_of=today, through=None, past=False, history=False)
        every = replace(now, history=True)
        if when.asked is Asked.EVER:
            return (every,)
        if when.asked is Asked.NAMED:
            return every, now
        if when.asked is Asked.BEFORE:
            return replace(now, past=True), now
        if when.asked is Asked.THEN:
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
    """Finds passages. Both scores are given for every hit, whichever way it was found."""

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        """The union of the `limit` nearest by vector and the `limit` best by words."""
        ...

    def score(
        self, vector: Vectors | None, text: str, allowed: Filter, numbers: Sequence[int]
    ) -> list[Hit]:
        """Both scores of passages that another search has found."""
        ...
