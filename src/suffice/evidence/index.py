"""The protocols of index and retriever. An index can be rebuilt from the store at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any, Protocol, runtime_checkable

from suffice.errors import ExtraMissing
from suffice.evidence.inputs import Given, retrieved
from suffice.evidence.rows import Vectors, VersionInfo
from suffice.models.embedder import Embedder
from suffice.text.when import TimeAsked, When
from suffice.types import Evidence, Kind, Passage

PUBLIC = "*"
"""The access label of documents that declare none."""
KEYWORD_FIELDS = ("collection", "access", "kind")
DAY_FIELDS = ("from", "until")


def today() -> date:
    """The current day in UTC, which decides what is in force whatever the server's time zone."""
    return datetime.now(UTC).date()


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that every passage in a search result must meet.

    A passage must belong to the collection and to one of the kinds (all if empty), and must be
    public or have one of the caller's labels. It must be in force on `as_of` (by default the day of
    the search). With `through`, it must be in force on some day from `as_of` to `through`. With
    `past`, it must no longer be in force on `as_of`. With `history`, dates are ignored.
    """

    as_of: date | None = None
    history: bool = False
    collection: str = "default"
    kinds: frozenset[Kind] = frozenset()
    labels: frozenset[str] = frozenset()
    through: date | None = None
    past: bool = False

    def dated(self) -> Filter:
        """The filter with an explicit day, so that the whole search uses the same day."""
        return self if self.as_of else replace(self, as_of=today())

    def allows(self, passage: Passage) -> bool:
        return (
            self.may_read(passage)
            and (not self.kinds or passage.kind in self.kinds)
            and (self.history or self._in_force(passage))
        )

    def may_read(self, passage: Passage | VersionInfo) -> bool:
        """Whether the caller may read the passage, whether it is in force or not."""
        return self.may_use(passage.collection, passage.access)

    def may_use(self, collection: str, labels: frozenset[str]) -> bool:
        """Whether the caller may read documents of a collection with these access labels."""
        readable = not labels or not labels.isdisjoint(self.labels | {PUBLIC})
        return collection == self.collection and readable

    def _in_force(self, passage: Passage) -> bool:
        day = self.as_of or today()
        since, until = passage.since or date.min, passage.until or date.max
        if since >= until:
            return False  # replaced before it took effect
        return until <= day if self.past else since <= (self.through or day) and day < until

    def at(self, when: When, today: date) -> tuple[Filter, ...]:
        """The filters for the time a question asks about, the main filter first.

        Filters for versions not in force come last. Their results are reported as left out.
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


def filtered_fields(passage: Passage) -> dict[str, str | int | list[str]]:
    """The fields of a passage that an index stores, so that it can apply a `Filter`."""
    return {
        "collection": passage.collection,
        "kind": passage.kind.value,
        "access": sorted(passage.access) or [PUBLIC],
        "from": (passage.since or date.min).toordinal(),
        "until": (passage.until or date.max).toordinal(),
    }


def required_values(allowed: Filter) -> dict[str, list[str]]:
    """For each keyword field that a `Filter` restricts: a passage must have one of the values."""
    required = {
        "collection": [allowed.collection],
        "access": sorted(allowed.labels | {PUBLIC}),
    }
    if allowed.kinds:
        required["kind"] = [kind.value for kind in sorted(allowed.kinds)]
    return required


def required_days(allowed: Filter) -> dict[str, dict[str, int]]:
    """For each day field that a `Filter` restricts: the limits, as `lte` or `gt` a day number."""
    if allowed.history:
        return {}
    day = allowed.as_of or today()
    until = {"lte": day.toordinal()} if allowed.past else {"gt": day.toordinal()}
    return {"from": {"lte": (allowed.through or day).toordinal()}, "until": until}


@dataclass(frozen=True, slots=True)
class Hit:
    """The number of a passage with its raw scores: cosine (`None` without a vector) and BM25."""

    number: int
    similarity: float | None
    keywords: float


class Index(Protocol):
    """Finds passages. Every hit has both scores, whichever search found it."""

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        """The `limit` nearest passages by vector together with the `limit` best by BM25."""
        ...

    def score(
        self, vector: Vectors | None, text: str, allowed: Filter, numbers: Sequence[int]
    ) -> list[Hit]:
        """Both scores for passages that another search found."""
        ...


Found = Evidence | Iterable[Given] | Given
Retriever = Callable[[str], Found]
"""Any search function: takes a question and returns passages, best first."""


@runtime_checkable
class LooksBack(Protocol):
    """A retriever that can search at another time (optional)."""

    @property
    def chosen(self) -> When | None:
        """The time set by the caller. It takes precedence over the question."""
        ...

    def at(self, when: When, today: date) -> Retriever: ...


@runtime_checkable
class SearchesAgain(Protocol):
    """A retriever that can search again with other queries (optional)."""

    def again(self, question: str, queries: Sequence[str]) -> Evidence:
        """The passages that the queries find, with raw scores for the question itself."""
        ...


@runtime_checkable
class Widens(Protocol):
    """A retriever that can search with other queries beside the question (optional)."""

    def widened(self, found: Evidence, queries: Sequence[str]) -> Evidence:
        """The best passages for the question, of those that it and the queries find. `found` is
        what this retriever found for the question alone."""
        ...


def gather(question: str, found: Found, embedder: Embedder | None) -> Evidence:
    """The results of any retriever as evidence. Missing relevance scores are computed."""
    if isinstance(found, Evidence):
        return found
    items = retrieved(found)
    blank = [i for i, item in enumerate(items) if item.relevance is None]
    if blank and embedder is not None:
        texts = [items[i].passage.text for i in blank]
        vectors = embedder.embed([question, *texts])
        for i, vector in zip(blank, vectors[1:], strict=True):
            similarity = float(vector @ vectors[0])
            items[i] = replace(items[i], relevance=similarity, score=similarity)
    return Evidence(question, tuple(items))


# Typical passage length in counted words. It is fixed, so that the weights of a passage do not
# depend on other passages.
AVERAGE_LENGTH = 100.0


def edge() -> Any:
    """The module of embedded Qdrant. Only a search or an index loads it."""
    try:
        import qdrant_edge
    except ImportError as problem:
        raise ExtraMissing("The search index", "store") from problem
    return qdrant_edge


@cache
def bm25() -> Any:
    """The BM25 model with English stop words and stems. Weights exclude document frequency."""
    q = edge()
    return q.Bm25(q.Bm25Config(language="english", avg_len=AVERAGE_LENGTH))
