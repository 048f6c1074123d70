"""The exact in-memory index, for small collections and as a reference in tests."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.evidence.index import Filter, Hit, bm25
from suffice.evidence.rows import StoredPassage, Vectors
from suffice.evidence.split import embedded_text
from suffice.evidence.store import Store

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """The passages of a store as they were in one state of it, with their vectors and BM25
    weights by term."""

    state: tuple[int, int, int]
    passages: Sequence[StoredPassage]
    vectors: Vectors
    postings: Mapping[int, Sequence[tuple[int, float]]]

    @classmethod
    def of(cls, state: tuple[int, int, int], passages: Sequence[StoredPassage]) -> _Snapshot:
        postings: dict[int, list[tuple[int, float]]] = {}
        for row, stored in enumerate(passages):
            sparse = bm25().embed_document(embedded_text(stored.passage))
            for term, weight in zip(sparse.indices, sparse.values, strict=True):
                postings.setdefault(term, []).append((row, weight))
        vectors = np.array([stored.vector for stored in passages], dtype=np.float32)
        return cls(state, passages, vectors, postings)

    def allowed(self, allowed: Filter) -> NDArray[np.bool_]:
        return np.array([allowed.allows(stored.passage) for stored in self.passages], dtype=bool)

    def similarity(self, vector: Vectors | None) -> Scores | None:
        return None if vector is None else (self.vectors @ vector).astype(np.float64)

    def words(self, text: str, mask: NDArray[np.bool_]) -> Scores:
        """BM25 scores, with document frequencies over the allowed passages only."""
        scores = np.zeros(len(self.passages))
        total = int(mask.sum())
        for term in bm25().embed_query(text).indices:
            rows = [(row, weight) for row, weight in self.postings.get(term, ()) if mask[row]]
            rarity = np.log((total - len(rows) + 0.5) / (len(rows) + 0.5) + 1)
            for row, weight in rows:
                scores[row] += rarity * weight
        return scores

    def hits(self, rows: Sequence[int], similarity: Scores | None, words: Scores) -> list[Hit]:
        return [
            Hit(
                self.passages[row].number,
                None if similarity is None else float(similarity[row]),
                float(words[row]),
            )
            for row in rows
        ]


class MemoryIndex:
    """Compares every passage with the question. Reloads when the store has changed. Thread-safe:
    each search reads one snapshot, which no other thread changes."""

    def __init__(self, store: Store, model: str) -> None:
        self._store = store
        self._model = model
        self._loading = threading.Lock()
        self._snapshot: _Snapshot | None = None

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        current = self._current()
        mask = current.allowed(allowed.dated())
        if not mask.any():
            return []
        words = current.words(text, mask)
        rows = set(_best(words, mask & (words > 0), limit))
        similarity = current.similarity(vector)
        if similarity is not None:
            rows |= set(_best(similarity, mask, limit))
        return current.hits(sorted(rows), similarity, words)

    def score(
        self, vector: Vectors | None, text: str, allowed: Filter, numbers: Sequence[int]
    ) -> list[Hit]:
        current = self._current()
        rows = {stored.number: row for row, stored in enumerate(current.passages)}
        known = [rows[number] for number in numbers if number in rows]
        words = current.words(text, current.allowed(allowed.dated()))
        return current.hits(known, current.similarity(vector), words)

    def _current(self) -> _Snapshot:
        """The snapshot of the store's present state. One thread loads it, others wait for it."""
        snapshot, store = self._snapshot, self._store
        if snapshot is not None and snapshot.state == self._state():
            return snapshot
        with self._loading:
            state = self._state()
            if self._snapshot is None or self._snapshot.state != state:
                passages = [stored for batch in store.changes(0, self._model) for stored in batch]
                self._snapshot = _Snapshot.of(state, passages)
            return self._snapshot

    def _state(self) -> tuple[int, int, int]:
        return self._store.epoch, self._store.last_change(), self._store.last_vector()


def _best(scores: Scores, mask: NDArray[np.bool_], limit: int) -> list[int]:
    rows = np.flatnonzero(mask)
    return [int(row) for row in rows[np.argsort(-scores[rows], kind="stable")][:limit]]
