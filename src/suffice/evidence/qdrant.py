"""The index on a Qdrant server, which any number of machines share: upload and search."""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from suffice.errors import (
    ExtraMissing,
    ModelMismatch,
    StoreError,
    StoreMissing,
    StoreRights,
    StoreUnreachable,
    SufficeError,
)
from suffice.evidence.index import (
    DAY_FIELDS,
    KEYWORD_FIELDS,
    Filter,
    Hit,
    bm25,
    filtered_fields,
    required_days,
    required_values,
)
from suffice.evidence.rows import StoredPassage, Vectors
from suffice.evidence.split import embedded_text
from suffice.evidence.store import Store
from suffice.settings import QdrantSettings

STATE = 0
"""The id of the point that says what a collection contains. Passage numbers begin at 1."""
# BM25 statistics over readable passages only. Older servers ignore the parameter, and scores would
# reveal how often a word occurs in documents that the caller may not read.
_LEAST_VERSION = (1, 19)
_LOCAL = ":memory:"


@dataclass(frozen=True, slots=True)
class State:
    """What a collection was built from: the embedder, and the last change of the store in it."""

    model: str
    through: int


@dataclass(frozen=True, slots=True)
class Server:
    """A Qdrant server with the collections of one store."""

    client: Any
    where: str
    prefix: str
    local: bool = False

    @classmethod
    def of(cls, store: Store, settings: QdrantSettings) -> Server:
        key = os.environ.get(settings.key_env, "").strip() if settings.key_env else ""
        client = _client(settings.url, key, settings.timeout)
        prefix = f"{settings.prefix}{store.id}-"
        return cls(client, settings.url, prefix, settings.url == _LOCAL)

    def name(self, model: str, epoch: int) -> str:
        """The collection for an embedder and an epoch of the store. A new embedder gets a new
        collection, and the old one is searched until the new one is complete."""
        return f"{self.prefix}{hashlib.sha256(model.encode()).hexdigest()[:12]}-{epoch}"

    def names(self) -> list[str]:
        """The collections of this store."""
        with translated(self.where):
            found = self.client.get_collections().collections
        return sorted(one.name for one in found if one.name.startswith(self.prefix))

    def state(self, name: str) -> State | None:
        """What a collection contains; `None` if it is missing or was never completed."""
        with translated(self.where):
            if not self.client.collection_exists(name):
                return None
            found = self.client.retrieve(name, [STATE], with_payload=True)
        if not found:
            return None
        return State(str(found[0].payload["model"]), int(found[0].payload["through"]))

    def models(self) -> set[str]:
        """The embedders of all complete collections of this store."""
        states = (self.state(name) for name in self.names())
        return {state.model for state in states if state}


def qdrant_models() -> Any:
    try:
        from qdrant_client import models
    except ImportError as problem:
        raise ExtraMissing("index_engine: qdrant", "qdrant") from problem
    return models


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Errors of the client as errors of Suffice."""
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as problem:
        if problem.status_code in (401, 403):
            raise StoreRights(
                f"Qdrant at {where} refused the API key.",
                remedy="Check the variable that qdrant.key_env names.",
            ) from problem
        if problem.status_code is None or problem.status_code >= 500 or problem.status_code == 429:
            raise StoreUnreachable(
                f"Qdrant at {where} is not available: {problem.reason_phrase}.",
                remedy="Check the state of the cluster and its disks, then try again.",
            ) from problem
        raise StoreError(
            f"Qdrant at {where} answered {problem.status_code}: {problem.reason_phrase}.",
            remedy="Check the log of the server. If the index is damaged, run: "
            "suffice index --rebuild",
        ) from problem
    except (ResponseHandlingException, OSError) as problem:
        raise StoreUnreachable(
            f"Qdrant at {where} cannot be reached: {problem}.",
            remedy="Start the server, or correct qdrant.url.",
        ) from problem


# One client for each server and process, with its pool of connections.
@lru_cache(maxsize=8)
def _client(url: str, key: str, timeout: float) -> Any:
    qdrant_models()
    from qdrant_client import QdrantClient

    if url == _LOCAL:
        return QdrantClient(_LOCAL)
    client = QdrantClient(
        url=url, api_key=key or None, timeout=max(1, round(timeout)), check_compatibility=False
    )
    with translated(url):
        version = str(client.info().version)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < _LEAST_VERSION:
        least = ".".join(map(str, _LEAST_VERSION))
        raise StoreError(
            f"Qdrant at {url} has version {version}; Suffice needs {least} or newer.",
            remedy="Upgrade the server: older versions count words in documents that a caller may "
            "not read.",
        )
    return client


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
        must = [
            *(
                m.FieldCondition(key=name, match=m.MatchAny(any=values))
                for name, values in required_values(allowed).items()
            ),
            *(
                m.FieldCondition(key=name, range=m.Range(**limits))
                for name, limits in required_days(allowed).items()
            ),
        ]
        return m.Filter(must=must)

    def _only(self, numbers: set[int]) -> Any:
        m = self._models
        return m.Filter(must=[m.HasIdCondition(has_id=sorted(numbers))]) if numbers else None


_POINTS_A_REQUEST = 200
_ATTEMPTS = 4


def uploaded_model(store: Store, model: str, settings: QdrantSettings) -> str:
    """The given model if there is an index for it, else another that the index was built with;
    empty without an index."""
    models = Server.of(store, settings).models()
    return model if model in models else min(models, default="")


def upload(
    store: Store,
    model: str,
    dimension: int,
    settings: QdrantSettings,
    *,
    rebuild: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> bool:
    """Update the collection from the store. The caller must hold the writer lock. Return whether
    there were changes."""
    server = Server.of(store, settings)
    name = server.name(model, store.epoch)
    state = server.state(name)
    since = state.through if state and not rebuild else 0
    through = store.last_change()
    if state and not rebuild and since == through:
        return False
    _create(server, name, dimension, settings)
    done = 0
    batches = store.changes(since, model, _POINTS_A_REQUEST)
    # The client's local mode is not safe for threads.
    for size in _uploaded(server, name, batches, 1 if server.local else settings.parallel):
        done += size
        progress(done)
    _note(server, name, model, through)
    for old in server.names():
        if old != name:
            with translated(server.where):
                server.client.delete_collection(old)
    return True


def _create(server: Server, name: str, dimension: int, settings: QdrantSettings) -> None:
    m = qdrant_models()
    with translated(server.where):
        if not server.client.collection_exists(name):
            server.client.create_collection(
                name,
                vectors_config={"dense": m.VectorParams(size=dimension, distance=m.Distance.DOT)},
                sparse_vectors_config={"words": m.SparseVectorParams(modifier=m.Modifier.IDF)},
                shard_number=settings.shards or None,
                replication_factor=settings.replicas,
            )
        if server.local:
            return  # it has no payload indexes
        kinds = dict.fromkeys(KEYWORD_FIELDS, m.PayloadSchemaType.KEYWORD)
        kinds |= dict.fromkeys(DAY_FIELDS, m.PayloadSchemaType.INTEGER)
        for field, kind in kinds.items():
            server.client.create_payload_index(name, field, field_schema=kind, wait=True)


def _uploaded(
    server: Server, name: str, batches: Iterator[list[StoredPassage]], parallel: int
) -> Iterator[int]:
    """Upload the batches, several at a time, and yield the size of each when it is stored."""
    waiting: deque[Future[int]] = deque()
    with ThreadPoolExecutor(parallel) as pool:
        for batch in batches:
            points = [_point(stored) for stored in batch]
            waiting.append(pool.submit(_upsert, server, name, points))
            if len(waiting) >= 2 * parallel:  # bounds the memory
                yield waiting.popleft().result()
        for upload in waiting:
            yield upload.result()


def _upsert(server: Server, name: str, points: list[Any]) -> int:
    """Store points, and try again if the server is briefly unavailable."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with translated(server.where):
                server.client.upsert(name, points, wait=True)
            break
        except StoreUnreachable:
            if attempt == _ATTEMPTS:
                raise
            time.sleep(0.2 * 2**attempt)
    return len(points)


def _note(server: Server, name: str, model: str, through: int) -> None:
    m = qdrant_models()
    state = m.PointStruct(id=STATE, vector={}, payload={"model": model, "through": through})
    _upsert(server, name, [state])


def _point(stored: StoredPassage) -> Any:
    m = qdrant_models()
    words = bm25().embed_document(embedded_text(stored.passage))
    return m.PointStruct(
        id=stored.number,
        vector={
            "dense": stored.vector.tolist(),
            "words": m.SparseVector(indices=list(words.indices), values=list(words.values)),
        },
        payload=filtered_fields(stored.passage),
    )
