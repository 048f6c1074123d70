"""Writes the index to a Qdrant server.

Points are upserted under the numbers of their passages, so an upload can be repeated or run twice
without a double. What the collection contains is noted last: an upload that was killed starts again
from the change that was noted before.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from suffice.errors import StoreUnreachable
from suffice.evidence.index import DAY_FIELDS, KEYWORD_FIELDS, filtered_fields
from suffice.evidence.keywords import bm25
from suffice.evidence.qdrant_server import STATE, Server, qdrant_models, translated
from suffice.evidence.rows import StoredPassage
from suffice.evidence.split import embedded_text
from suffice.evidence.store import Store
from suffice.settings import QdrantSettings

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
