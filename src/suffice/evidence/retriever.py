"""What a retriever is: any function from a question to passages. Needs no store and no index."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from typing import Protocol, runtime_checkable

from suffice.evidence.inputs import Given, retrieved
from suffice.models.embedder import Embedder
from suffice.text.times import When
from suffice.types import Evidence

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
