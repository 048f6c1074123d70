"""The index on disk: Qdrant in the process, published in generations.

A generation is a folder that nobody writes to once it is published; `CURRENT` names the newest.
So readers in any number of processes need no lock, a crash in the middle of building leaves the
last generation as it was, and the next run builds on from it. SQL is the truth: a generation
records up to which change of which store it has read, and can always be made again.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from suffice.errors import ModelMismatch, StoreDamaged, StoreFull, StoreMissing, SufficeError
from suffice.evidence.database import translated
from suffice.evidence.index import PUBLIC, Filter, Hit
from suffice.evidence.keywords import bm25
from suffice.evidence.rows import StoredPassage, Vectors
from suffice.evidence.split import embedded_text
from suffice.evidence.store import Store

# From about 20,000 passages on a graph is built; below, exact search is as quick.
_GRAPH_FROM_KB = 30_000
# Qdrant maps its files: a full disk would end the process, so room is asked for beforehand.
_SPARE_BYTES = 64_000_000
_BYTES_A_PASSAGE = 6_000


class EdgeIndex:
    """Searches the newest generation; notices by itself when a newer one is published."""

    def __init__(self, store: Store, model: str) -> None:
        self._folder = index_folder(store)
        self._model = model
        self._loaded = ""
        self._shard: Any = None
        self._refresh()

    def search(self, vector: Vectors | None, text: str, allowed: Filter, limit: int) -> list[Hit]:
        self._refresh()
        wanted = _filter(allowed)
        words = self._words(text, wanted, limit)
        near = {} if vector is None else self._near(vector, wanted, limit)
        # Whichever way a passage was found, it gets both of its scores.
        if vector is not None:
            near |= self._near(vector, _only(list(words.keys() - near.keys())), limit)
        words |= self._words(text, _only(list(near.keys() - words.keys())), limit, wanted)
        return [
            Hit(number, near.get(number), words.get(number, 0.0))
            for number in sorted(near.keys() | words.keys())
        ]

    def _near(self, vector: Vectors, wanted: Any, limit: int) -> dict[int, float]:
        return self._query("dense", vector.tolist(), wanted, limit, None)

    def _words(self, text: str, wanted: Any, limit: int, corpus: Any = None) -> dict[int, float]:
        """BM25; rarity is counted over what the caller may see, so nothing else shines through."""
        sparse = bm25().embed_query(text)
        if not sparse.indices:
            return {}
        import qdrant_edge as q

        params = q.SearchParams(idf=q.IdfParams(corpus=corpus or wanted))
        return self._query("words", sparse, wanted, limit, params)

    def _query(
        self, using: str, query: Any, wanted: Any, limit: int, params: Any
    ) -> dict[int, float]:
        import qdrant_edge as q

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
        current = _current(self._folder)
        if not current:
            raise StoreMissing(
                f"The search index in {self._folder} is not built yet.",
                remedy="Run: suffice index --rebuild",
            )
        if current != self._loaded:
            state = _state(self._folder / current)
            if state.get("model") != self._model:
                raise ModelMismatch(
                    f"The index was made with {state.get('model')}, the embedder is {self._model}.",
                    remedy="Run: suffice index --rebuild, or set embedder.model back.",
                )
            import qdrant_edge as q

            with _engine(self._folder):
                self._shard = q.EdgeShard.load(str(self._folder / current / "shard"))
            self._loaded = current


def index_folder(store: Store) -> Path:
    return store.path.with_name(store.path.name + ".index")


@contextmanager
def _engine(folder: Path) -> Iterator[None]:
    try:
        yield
    except (SufficeError, OSError):
        raise
    except Exception as problem:  # the engine raises nothing more specific
        raise StoreDamaged(
            f"The search index in {folder} cannot be used: {problem}",
            remedy="Check that the disk has room, then run: suffice index --rebuild. "
            "The documents themselves are not touched.",
        ) from problem


def index_model(store: Store) -> str:
    """The embedder the newest generation was made with; empty where there is none."""
    folder = index_folder(store)
    current = _current(folder)
    return str(_state(folder / current).get("model", "")) if current else ""


def publish(
    store: Store,
    model: str,
    dimension: int,
    *,
    rebuild: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> bool:
    """Brings the index up to the store: a copy of the last generation with the changes applied.

    Only the holder of the writer's lock may call this. Says whether there was anything to do.
    """
    folder = index_folder(store)
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True)
        current = _current(folder)
        state = _state(folder / current) if current else {}
        goes_on = not rebuild and state.get("epoch") == store.epoch and state.get("model") == model
        since = int(state.get("through", 0)) if goes_on else 0
        through = store.last_change()
        if goes_on and since == through:
            return False
        number = int(current.rpartition("-")[2]) + 1 if current else 1
        fresh = folder / f"generation-{number:06d}"
        _clean(folder, keep={current})
        last = folder / current / "shard" if goes_on else None
        _ask_for_room(folder, last, store.count_changes(since))
        with _engine(folder):
            _build(fresh / "shard", last, store, since, model, dimension, progress)
        state = {"epoch": store.epoch, "model": model, "through": through}
        _write(fresh / "state.json", json.dumps(state))
        _write(folder / "CURRENT", fresh.name)
        _clean(folder, keep={current, fresh.name})
    return True


def _build(
    shard_folder: Path,
    last: Path | None,
    store: Store,
    since: int,
    model: str,
    dimension: int,
    progress: Callable[[int], None],
) -> None:
    import qdrant_edge as q

    if last:
        shutil.copytree(last, shard_folder)
        shard = q.EdgeShard.load(str(shard_folder))
    else:
        shard_folder.mkdir(parents=True)
        shard = q.EdgeShard.create(str(shard_folder), _config(dimension))
        for name in ("collection", "access", "kind"):
            operation = q.UpdateOperation.create_field_index(name, q.PayloadSchemaType.Keyword)
            shard.update(operation)
        for name in ("from", "until"):
            operation = q.UpdateOperation.create_field_index(name, q.PayloadSchemaType.Integer)
            shard.update(operation)
    done = 0
    for batch in store.changes(since, model):
        shard.update(q.UpdateOperation.upsert_points([_point(stored) for stored in batch]))
        done += len(batch)
        progress(done)
    shard.optimize()
    shard.flush()
    shard.close()


def _config(dimension: int) -> Any:
    import qdrant_edge as q

    return q.EdgeConfig(
        vectors={"dense": q.EdgeVectorParams(size=dimension, distance=q.Distance.Dot)},
        sparse_vectors={"words": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
        optimizers=q.EdgeOptimizersConfig(indexing_threshold=_GRAPH_FROM_KB),
        # The store is the log: a generation is flushed as a whole before it is published.
        wal_enabled=False,
    )


def _point(stored: StoredPassage) -> Any:
    import qdrant_edge as q

    passage = stored.passage
    return q.Point(
        stored.number,
        {
            "dense": stored.vector.tolist(),
            "words": bm25().embed_document(embedded_text(passage)),
        },
        {
            "collection": passage.collection,
            "kind": passage.kind.value,
            "access": sorted(passage.access) or [PUBLIC],
            "from": stored.force_from.toordinal(),
            "until": stored.force_until.toordinal(),
        },
    )


def _filter(allowed: Filter) -> Any:
    import qdrant_edge as q

    def field(key: str, **condition: Any) -> Any:
        return q.FieldCondition(key=key, **condition)

    must = [
        field("collection", match=q.MatchValue(allowed.collection)),
        field("access", match=q.MatchAny(sorted(allowed.labels | {PUBLIC}))),
    ]
    if allowed.kinds:
        must.append(field("kind", match=q.MatchAny([kind.value for kind in sorted(allowed.kinds)])))
    if not allowed.history:
        day = allowed.as_of.toordinal()
        must.append(field("from", range=q.RangeFloat(lte=day)))
        must.append(field("until", range=q.RangeFloat(gt=day)))
    return q.Filter(must=must)


def _only(numbers: list[int]) -> Any:
    import qdrant_edge as q

    return q.Filter(must=[q.HasIdCondition(set(numbers))]) if numbers else None


def _current(folder: Path) -> str:
    try:
        return (folder / "CURRENT").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def _state(generation: Path) -> dict[str, Any]:
    try:
        state = json.loads((generation / "state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _write(path: Path, text: str) -> None:
    """Written whole or not at all."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def _clean(folder: Path, keep: set[str]) -> None:
    """Takes away generations nobody needs. A reader that has one open keeps its mapped files."""
    for old in folder.glob("generation-*"):
        if old.name not in keep:
            shutil.rmtree(old, ignore_errors=True)


def _ask_for_room(folder: Path, last: Path | None, passages: int) -> None:
    size = sum(file.stat().st_size for file in last.rglob("*") if file.is_file()) if last else 0
    needed = size + passages * _BYTES_A_PASSAGE + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StoreFull(
            f"The search index needs about {needed / 1e6:.0f} MB in {folder}, "
            f"{free / 1e6:.0f} MB are free.",
            remedy="Free some space, then run the same command again; no document is lost.",
        )
