"""Searches the on-disk index: embedded Qdrant, always on the newest generation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from suffice.errors import ModelMismatch, StoreDamaged, StoreFull, StoreMissing
from suffice.evidence.generations import current, engine, reserve, state_of
from suffice.evidence.index import PUBLIC, Filter, Hit, today
from suffice.evidence.keywords import bm25, edge
from suffice.evidence.rows import Vectors
from suffice.evidence.store import Store

_ATTEMPTS = 5


class EdgeIndex:
    """Searches the newest generation and switches when a newer generation is published."""

    def __init__(self, store: Store, model: str) -> None:
        self._store = store
        self._folder = store.index
        self._model = model
        self._loaded = ""
        self._shard: Any = None
        self._refresh()

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        self._refresh()
        wanted = _filter(allowed.dated())
        words = self._words(text, wanted, limit)
        near = {} if vector is None else self._near(vector, wanted, limit)
        # Each passage gets both scores, whichever search found it.
        if vector is not None:
            near |= self._near(vector, _only(list(words.keys() - near.keys())), limit)
        words |= self._words(text, _only(list(near.keys() - words.keys())), limit, wanted)
        return [
            Hit(number, near.get(number), words.get(number, 0.0))
            for number in sorted(near.keys() | words.keys())
        ]

    def score(
        self, vector: Vectors | None, text: str, allowed: Filter, numbers: Sequence[int]
    ) -> list[Hit]:
        self._refresh()
        only, most = _only(list(numbers)), len(numbers)
        near = {} if vector is None else self._near(vector, only, most)
        words = self._words(text, only, most, _filter(allowed.dated()))
        return [Hit(number, near.get(number), words.get(number, 0.0)) for number in numbers]

    def _near(self, vector: Vectors, wanted: Any, limit: int) -> dict[int, float]:
        return self._query("dense", vector.tolist(), wanted, limit, None)

    def _words(self, text: str, wanted: Any, limit: int, corpus: Any = None) -> dict[int, float]:
        """BM25 scores. Document frequencies cover only passages the caller may read, so that the
        scores reveal nothing about others."""
        sparse = bm25().embed_query(text)
        if not sparse.indices:
            return {}
        q = edge()
        params = q.SearchParams(idf=q.IdfParams(corpus=corpus or wanted))
        return self._query("words", sparse, wanted, limit, params)

    def _query(
        self, using: str, query: Any, wanted: Any, limit: int, params: Any
    ) -> dict[int, float]:
        q = edge()
        if wanted is None:
            return {}
        found = self._shard.query(
            q.QueryRequest(
                query=q.Query.Nearest(query, using=using),
                filter=wanted,
                limit=limit,
                params=params,
            )
        )
        return {point.id: point.score for point in found}

    def _refresh(self) -> None:
        """Open the newest generation. Retry if a writer removes it meanwhile."""
        for attempt in range(_ATTEMPTS):
            newest = current(self._folder)
            if newest and newest == self._loaded:
                return
            try:
                self._open(newest)
                self._loaded = newest
                return
            except StoreFull:
                if self._shard is None:
                    raise
                return  # the generation that is open still answers
            except StoreDamaged:
                if attempt + 1 == _ATTEMPTS:
                    raise
                time.sleep(0.05)

    def _open(self, newest: str) -> None:
        state = state_of(self._folder / newest) if newest else {}
        # Passage numbers are specific to a store, so the index of another store would be wrong.
        if state.get("store") != self._store.id:
            raise StoreMissing(
                f"The search index in {self._folder} has not been built.",
                remedy="Run: suffice index --rebuild",
            )
        if state.get("model") != self._model:
            raise ModelMismatch(
                f"The index was built with {state.get('model')}; the embedder is {self._model}.",
                remedy="Run: suffice index --rebuild, or restore the previous embedder.model.",
            )
        q = edge()
        shard = self._folder / newest / "shard"
        with engine(self._folder):
            reserve(shard)
            self._shard = q.EdgeShard.load(str(shard))


def _filter(allowed: Filter) -> Any:
    q = edge()

    def field(key: str, **condition: Any) -> Any:
        return q.FieldCondition(key=key, **condition)

    must = [
        field("collection", match=q.MatchValue(allowed.collection)),
        field("access", match=q.MatchAny(sorted(allowed.labels | {PUBLIC}))),
    ]
    if allowed.kinds:
        must.append(field("kind", match=q.MatchAny([kind.value for kind in sorted(allowed.kinds)])))
    if not allowed.history:
        day = allowed.as_of or today()
        last = (allowed.through or day).toordinal()
        until = {"lte": day.toordinal()} if allowed.past else {"gt": day.toordinal()}
        must.append(field("from", range=q.RangeFloat(lte=last)))
        must.append(field("until", range=q.RangeFloat(**until)))
    return q.Filter(must=must)


def _only(numbers: list[int]) -> Any:
    q = edge()
    return q.Filter(must=[q.HasIdCondition(set(numbers))]) if numbers else None
