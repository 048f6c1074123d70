"""Finds evidence: embeds the question, queries the index, combines the scores, reads the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta

from suffice.errors import ModelMismatch, ModelUnreachable
from suffice.evidence.deduplicate import distinct
from suffice.evidence.documents import StoredDocuments
from suffice.evidence.edge import EdgeIndex
from suffice.evidence.index import Filter, Hit, Index
from suffice.evidence.memory import MemoryIndex
from suffice.evidence.qdrant import QdrantIndex
from suffice.evidence.rows import Vectors
from suffice.evidence.store import Store
from suffice.models.embedder import Embedder
from suffice.settings import CollectionSettings, SearchSettings, Settings
from suffice.text.times import TimeAsked, When
from suffice.types import Evidence, Retrieved

KEYWORDS_ONLY = "Searched by keywords only"
# BM25 is unbounded. A BM25 score of this value counts as one half.
_HALF_KEYWORDS = 10.0
# If copies fill the results, the search reads at most this many times the wanted passages.
_MOST_COPIES = 8


@dataclass(frozen=True, slots=True)
class Search:
    """The retriever over the store. Call it with a question to get the evidence.

    `also` holds more filters to search with. Each adds only what the previous filters exclude.
    """

    store: Store
    index: Index
    embedder: Embedder
    settings: SearchSettings
    allowed: Filter
    also: tuple[Filter, ...] = ()
    own: CollectionSettings | None = None
    """All settings of the collection, for a pipeline without its own."""

    def __call__(self, question: str) -> Evidence:
        (vector,), notes = self._vectors([question])
        filters = (self.allowed.dated(), *self.also)
        items: list[Retrieved] = []
        near = vector is None
        for place, allowed in enumerate(filters):
            hits = self.index.search(vector, question, allowed, self.settings.candidates)
            near = near or (self._any_near(hits) and not (place and allowed.history))
            items += [
                item
                for item in self.read(hits, allowed)
                if not any(earlier.allows(item.passage) for earlier in filters[:place])
            ]
        if not near:
            notes.append(
                "No passage is similar in meaning to the question; searched by keywords only."
            )
        return Evidence(question, tuple(items), tuple(notes))

    @property
    def chosen(self) -> When | None:
        day, last = self.allowed.as_of, self.allowed.through or self.allowed.as_of
        if self.allowed.history:
            return When(TimeAsked.EVER)
        if day is None or last is None:
            return None
        return When(TimeAsked.THEN, day, last + timedelta(days=1), day.isoformat(), firm=True)

    def at(self, when: When, today: date) -> Search:
        """The same search over the versions in force at that time."""
        if self.chosen:
            return self
        allowed, *also = self.allowed.at(when, today)
        return replace(self, allowed=allowed, also=tuple(also))

    def again(self, question: str, queries: Sequence[str]) -> Evidence:
        (vector, *others), notes = self._vectors([question, *queries])
        allowed, depth = self.allowed.dated(), self.settings.candidates
        numbers: dict[int, None] = {}
        for query, other in zip(queries, others, strict=True):
            hits = self._ranked(self.index.search(other, query, allowed, depth))
            numbers |= dict.fromkeys(hit.number for hit in hits[: self.settings.top_k])
        found = self.index.score(vector, question, allowed, list(numbers))
        return Evidence(question, self.read(found, allowed, len(found)), tuple(notes))

    def _vectors(self, texts: Sequence[str]) -> tuple[list[Vectors | None], list[str]]:
        try:
            return list(self.embedder.embed(texts)), []
        except ModelUnreachable as problem:
            note = f"{KEYWORDS_ONLY}: {problem.message}"
            return [None] * len(texts), [note]

    @property
    def documents(self) -> StoredDocuments:
        """The stored documents that the caller may read, in force or not, for citation checks."""
        return StoredDocuments(self.store, self.allowed)

    def fused(self, hit: Hit) -> float:
        """The combined score of cosine and BM25. It depends on this passage alone."""
        words = hit.keywords / (hit.keywords + _HALF_KEYWORDS)
        if hit.similarity is None:
            return words
        weight = self.settings.dense_weight
        return weight * hit.similarity + (1 - weight) * words

    def _ranked(self, hits: Sequence[Hit]) -> list[Hit]:
        """The hits, best first. If no passage is similar in meaning, BM25 alone decides."""
        if self._any_near(hits):
            return sorted(hits, key=lambda hit: (-self.fused(hit), hit.number))
        worded = [hit for hit in hits if hit.keywords > 0]
        return sorted(worded, key=lambda hit: (-hit.keywords, hit.number))

    def _any_near(self, hits: Sequence[Hit]) -> bool:
        return any((hit.similarity or 0.0) >= self.settings.min_dense_similarity for hit in hits)

    def read(
        self, hits: Sequence[Hit], allowed: Filter, most: int | None = None
    ) -> tuple[Retrieved, ...]:
        """The best hits as passages, near copies of better ones left out. The store has the final
        say on what the filter allows."""
        diversity = self.own.gate.diversity if self.own else None
        ranked, most = self._ranked(hits), self.settings.top_k if most is None else most
        items: list[Retrieved] = []
        found = Evidence("")
        for start in range(0, len(ranked), self.settings.top_k):
            portion = ranked[start : start + self.settings.top_k]
            passages = self.store.passages([hit.number for hit in portion])
            for hit in portion:
                passage = passages.get(hit.number)
                if passage is not None and allowed.allows(passage):
                    items.append(Retrieved(passage, hit.similarity, hit.keywords, self.fused(hit)))
            found, _ = distinct(Evidence("", tuple(items)), diversity)
            if len(found) >= most or len(items) >= _MOST_COPIES * most:
                break
        return found.items[:most]


def open_index(store: Store, settings: Settings, model: str) -> Index:
    """Open the configured index. Raise an error if it was built with another embedder."""
    if settings.index_engine == "edge":
        return EdgeIndex(store, model)
    if settings.index_engine == "qdrant":
        return QdrantIndex(store, model, settings.qdrant)
    if store.last_vector() and not store.has_vectors(model):
        raise ModelMismatch(
            f"The vectors in {store.where} were not created with {model}.",
            remedy="Run: suffice index --rebuild, or restore the previous embedder.model.",
        )
    return MemoryIndex(store, model)
