"""Searches an index on a Qdrant server, which any number of machines share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suffice.errors import ModelMismatch, StoreError, StoreMissing, SufficeError
from suffice.evidence.index import PUBLIC, Filter, Hit, today
from suffice.evidence.keywords import bm25
from suffice.evidence.qdrant_server import Server, qdrant_models, translated
from suffice.evidence.rows import Vectors
from suffice.evidence.store import Store
from suffice.settings import QdrantSettings

Scores = dict[int, float]


class QdrantIndex:
    """Searches the collection of the store's current epoch."""

    def __init__(self, store: Store, model: str, settings: QdrantSettings) -> None:
        self._store, self._model = store, model
        self._models = qdrant_models()
        self._server = Server.of(store, settings)
        self._name = ""
        self._refresh()

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        wanted = self._filter(allowed.dated())
        near, words = self._query(vector, text, (wanted, wanted), limit, wanted)
        # Each passage gets both scores, whichever search found it.
        others = self._only(words.keys() - near.keys()), self._only(near.keys() - words.keys())
        more_near, more_words = self._query(vector, text, others, len(near) + len(words), wanted)
        near, words = near | more_near, words | more_words
        return [
            Hit(number, near.get(number), words.get(number, 0.0))
            for number in sorted(near.keys() | words.keys())
        ]

    def score(
        self, vector: Vectors | None, text: str, allowed: Filter, numbers: Sequence[int]
    ) -> list[Hit]:
        only, corpus = self._only(set(numbers)), self._filter(allowed.dated())
        near, words = self._query(vector, text, (only, only), len(numbers), corpus)
        return [Hit(number, near.get(number), words.get(number, 0.0)) for number in numbers]

    def _query(
        self,
        vector: Vectors | None,
        text: str,
        wanted: tuple[Any, Any],
        limit: int,
        corpus: Any,
    ) -> tuple[Scores, Scores]:
        """The cosines of the passages in the first filter and the BM25 scores of those in the
        second, by one request. Document frequencies cover only passages the caller may read."""
        m, asked = self._models, {}
        sparse = bm25().embed_query(text)
        if vector is not None and wanted[0] is not None:
            asked["dense"] = m.QueryRequest(
                query=vector.tolist(), using="dense", filter=wanted[0], limit=limit
            )
        if sparse.indices and wanted[1] is not None:
            asked["words"] = m.QueryRequest(
                query=m.SparseVector(indices=list(sparse.indices), values=list(sparse.values)),
                using="words",
                filter=wanted[1],
                limit=limit,
                params=m.SearchParams(idf=m.IdfCorpusParams(corpus=corpus)),
            )
        found = dict(zip(asked, self._answers(list(asked.values())), strict=True))
        near, words = found.get("dense", {}), found.get("words", {})
        # A passage without any of the words has no BM25 score.
        return near, {number: score for number, score in words.items() if score > 0}

    def _answers(self, requests: list[Any]) -> list[Scores]:
        if not requests:
            return []
        self._refresh()
        client, name = self._server.client, self._name
        try:
            with translated(self._server.where):
                answers = client.query_batch_points(name, requests=requests)
        except (StoreError, ValueError):
            self._refresh(again=True)
            if self._name == name:
                raise
            with translated(self._server.where):  # the store was split again meanwhile
                answers = client.query_batch_points(self._name, requests=requests)
        return [{int(point.id): float(point.score) for point in one.points} for one in answers]

    def _refresh(self, again: bool = False) -> None:
        """Choose the collection of the current epoch, or stay while that is not complete."""
        name = self._server.name(self._model, self._store.epoch)
        if name == self._name and not again:
            return
        if self._server.state(name):
            self._name = name
        elif not self._name or again:
            raise self._missing()

    def _missing(self) -> SufficeError:
        if others := self._server.models() - {self._model}:
            made_with = ", ".join(sorted(others))
            return ModelMismatch(
                f"The index was built with {made_with}; the embedder is {self._model}.",
                remedy="Run: suffice index --rebuild, or restore the previous embedder.model.",
            )
        return StoreMissing(
            f"The search index at {self._server.where} has not been built.",
            remedy="Run: suffice index --rebuild",
        )

    def _filter(self, allowed: Filter) -> Any:
        m = self._models

        def field(key: str, **condition: Any) -> Any:
            return m.FieldCondition(key=key, **condition)

        must = [
            field("collection", match=m.MatchValue(value=allowed.collection)),
            field("access", match=m.MatchAny(any=sorted(allowed.labels | {PUBLIC}))),
        ]
        if allowed.kinds:
            kinds = [kind.value for kind in sorted(allowed.kinds)]
            must.append(field("kind", match=m.MatchAny(any=kinds)))
        if not allowed.history:
            day = allowed.as_of or today()
            last = (allowed.through or day).toordinal()
            until = {"lte": day.toordinal()} if allowed.past else {"gt": day.toordinal()}
            must.append(field("from", range=m.Range(lte=last)))
            must.append(field("until", range=m.Range(**until)))
        return m.Filter(must=must)

    def _only(self, numbers: set[int]) -> Any:
        m = self._models
        return m.Filter(must=[m.HasIdCondition(has_id=sorted(numbers))]) if numbers else None
