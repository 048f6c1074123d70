"""The exact in-memory index, for small collections and as a reference in tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from suffice.evidence.index import Filter, Hit, bm25
from suffice.evidence.rows import StoredPassage, Vectors
from suffice.evidence.split import embedded_text
from suffice.evidence.store import Store

Scores = NDArray[np.float64]


class MemoryIndex:
    """Compares every passage with the question. Reloads when the store has changed."""

    def __init__(self, store: Store, model: str) -> None:
        self._store = store
        self._model = model
        self._read: tuple[int, int, int] | None = None
        self._passages: list[StoredPassage] = []
        self._matrix = np.zeros((0, 0), dtype=np.float32)
        self._postings: dict[int, list[tuple[int, float]]] = {}

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        self._refresh()
        allowed = allowed.dated()
        mask = np.array([allowed.allows(p.passage) for p in self._passages], dtype=bool)
        if not mask.any():
            return []
        words = self._words(text, mask)
        chosen = set(_best(words, mask & (words > 0), limit))
        similarity = self._similarity(vector)
        if similarity is not None:
            chosen |= set(_best(similarity, mask, limit))
        return self._hits(sorted(chosen), similarity, words)

    def score(
        self, vector: Vectors | None, text: str, allowed: Filter, numbers: Sequence[int]
    ) -> list[Hit]:
        self._refresh()
        allowed = allowed.dated()
        mask = np.array([allowed.allows(p.passage) for p in self._passages], dtype=bool)
        rows = {stored.number: row for row, stored in enumerate(self._passages)}
        known = [rows[number] for number in numbers if number in rows]
        return self._hits(known, self._similarity(vector), self._words(text, mask))

    def _similarity(self, vector: Vectors | None) -> Scores | None:
        return None if vector is None else (self._matrix @ vector).astype(np.float64)

    def _hits(self, rows: Sequence[int], similarity: Scores | None, words: Scores) -> list[Hit]:
        return [
            Hit(
                self._passages[row].number,
                None if similarity is None else float(similarity[row]),
                float(words[row]),
            )
            for row in rows
        ]

    def _refresh(self) -> None:
        state = (self._store.epoch, self._store.last_change(), self._store.last_vector())
        if state == self._read:
            return
        self._passages = [p for batch in self._store.changes(0, self._model) for p in batch]
        self._matrix = np.array([p.vector for p in self._passages], dtype=np.float32)
        self._postings = {}
        for row, stored in enumerate(self._passages):
            sparse = bm25().embed_document(embedded_text(stored.passage))
            for term, weight in zip(sparse.indices, sparse.values, strict=True):
                self._postings.setdefault(term, []).append((row, weight))
        self._read = state

    def _words(self, text: str, mask: NDArray[np.bool_]) -> Scores:
        """BM25 scores, with document frequencies over the allowed passages only."""
        scores = np.zeros(len(self._passages))
        total = int(mask.sum())
        for term in bm25().embed_query(text).indices:
            found = [(row, weight) for row, weight in self._postings.get(term, ()) if mask[row]]
            rarity = np.log((total - len(found) + 0.5) / (len(found) + 0.5) + 1)
            for row, weight in found:
                scores[row] += rarity * weight
        return scores


def _best(scores: Scores, mask: NDArray[np.bool_], limit: int) -> list[int]:
    rows = np.flatnonzero(mask)
    return [int(row) for row in rows[np.argsort(-scores[rows], kind="stable")][:limit]]
