"""The on-disk index, embedded Qdrant: written and published in generations, and searched."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from suffice.errors import (
    ModelMismatch,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreMissing,
    SufficeError,
)
from suffice.evidence.index import (
    DAY_FIELDS,
    KEYWORD_FIELDS,
    Filter,
    Hit,
    bm25,
    edge,
    filtered_fields,
    required_days,
    required_values,
)
from suffice.evidence.rows import StoredPassage, Vectors
from suffice.evidence.split import embedded_text
from suffice.evidence.store import Store
from suffice.sql.backend import locked, translated

# A graph is built only above about 130,000 passages. Below that, exact search is fast enough, and
# building a graph takes twice the memory.
_GRAPH_FROM_KB = 200_000
# Qdrant maps its files into memory, so a full disk would kill the process. Check free space first.
_SPARE_BYTES = 64_000_000
_BYTES_A_PASSAGE = 8_000
_MAPPED_BYTES = 160_000_000
"""The size of the files of an empty index, nearly all of it empty blocks."""
_BLOCK = 1 << 16
_WAIT = 60.0
_NAME = re.compile(r"generation-\d{6,}")


def index_model(store: Store) -> str:
    """The embedder that the newest generation was built with; empty without a generation."""
    folder = store.index
    newest = current(folder)
    return str(state_of(folder / newest).get("model", "")) if newest else ""


def publish(
    store: Store,
    model: str,
    dimension: int,
    *,
    rebuild: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> bool:
    """Update the index from the store: copy the last generation and apply the changes.

    The caller must hold the writer lock. Return whether there were changes.
    """
    folder = store.index
    with translated(str(folder)):  # it contains passages, so only the owner may read it
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    # A separate lock, because losing the database connection releases the writer lock.
    with locked(folder / ".lock", _WAIT, str(folder)), translated(str(folder)):
        newest = current(folder)
        state = state_of(folder / newest) if newest else {}
        made_of = (state.get("store"), state.get("epoch"), state.get("model"))
        goes_on = not rebuild and made_of == (store.id, store.epoch, model)
        since = int(state.get("through", 0)) if goes_on else 0
        through = store.last_change()
        if goes_on and since == through:
            return False
        fresh = folder / _next_name(folder)
        last = folder / newest / "master" if goes_on else None
        _ask_for_room(folder, last, store.count_changes(since))
        with engine(folder):
            _build(fresh / "master", last, store, since, model, dimension, progress)
        _copy(fresh / "master", fresh / "shard")
        state = {"store": store.id, "epoch": store.epoch, "model": model, "through": through}
        _write(fresh / "state.json", json.dumps(state))
        _write(folder / "CURRENT", fresh.name)
        _clean(folder, newest, fresh.name)
    return True


def catch_up(store: Store, model: str, dimension: int, wait: float) -> None:
    """Update this machine's index with changes that other machines made to the store.

    If another process is already updating it, use the current index, or wait if there is none yet.
    """
    newest = current(store.index)
    state = state_of(store.index / newest) if newest else {}
    made_of = (state.get("store"), state.get("epoch"), state.get("through"))
    if state.get("model", model) != model:
        return  # the search will report it
    if made_of == (store.id, store.epoch, store.last_change()):
        return
    with suppress(*([StoreBusy] if newest else [])), store.alone(0 if newest else wait):
        if store.has_vectors(model) and not store.count_unembedded(model):
            publish(store, model, dimension)


def _build(
    shard_folder: Path,
    last: Path | None,
    store: Store,
    since: int,
    model: str,
    dimension: int,
    progress: Callable[[int], None],
) -> None:
    q = edge()
    if last:
        _copy(last, shard_folder)
        shard = q.EdgeShard.load(str(shard_folder))
    else:
        shard_folder.mkdir(parents=True)
        shard = q.EdgeShard.create(str(shard_folder), _config(dimension))
        for name in KEYWORD_FIELDS:
            operation = q.UpdateOperation.create_field_index(name, q.PayloadSchemaType.Keyword)
            shard.update(operation)
        for name in DAY_FIELDS:
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


def _copy(source: Path, target: Path) -> None:
    """Copy a file without its empty blocks: Qdrant preallocates files in large pieces."""
    shutil.copytree(source, target, copy_function=_copy_file)


def _copy_file(source: str, target: str) -> None:
    with open(source, "rb", buffering=0) as old, open(target, "wb") as new:
        size = os.fstat(old.fileno()).st_size
        for start, end in _data_ranges(old.fileno(), size):
            for place in range(start, end, _BLOCK):
                old.seek(place)
                block = old.read(min(_BLOCK, end - place))
                if block.strip(b"\0"):
                    new.seek(place)
                    new.write(block)
        new.truncate(size)


def _data_ranges(file: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a sparse file that contain data, without reading the holes."""
    end = 0
    while end < size:
        try:
            start = os.lseek(file, end, os.SEEK_DATA)
        except OSError as problem:
            if problem.errno != errno.ENXIO:  # the file system does not support holes
                yield end, size
            return
        end = os.lseek(file, start, os.SEEK_HOLE)
        yield start, end


def _config(dimension: int) -> Any:
    q = edge()
    return q.EdgeConfig(
        vectors={"dense": q.EdgeVectorParams(size=dimension, distance=q.Distance.Dot)},
        sparse_vectors={"words": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
        optimizers=q.EdgeOptimizersConfig(indexing_threshold=_GRAPH_FROM_KB),
        # No write-ahead log is needed: a generation is flushed as a whole before it is published.
        wal_enabled=False,
    )


def _point(stored: StoredPassage) -> Any:
    q = edge()
    passage = stored.passage
    return q.Point(
        stored.number,
        {
            "dense": stored.vector.tolist(),
            "words": bm25().embed_document(embedded_text(passage)),
        },
        filtered_fields(passage),
    )


@contextmanager
def engine(folder: Path) -> Iterator[None]:
    try:
        yield
    except (SufficeError, OSError):
        raise
    except Exception as problem:  # Qdrant raises no specific exceptions
        raise StoreDamaged(
            f"The search index in {folder} cannot be used: {problem}",
            remedy="Check the free disk space, then run: suffice index --rebuild. "
            "The stored documents are not affected.",
        ) from problem


def current(folder: Path) -> str:
    """The name of the newest generation; empty if it is missing or invalid."""
    try:
        name = (folder / "CURRENT").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""
    return name if _NAME.fullmatch(name) else ""


def _next_name(folder: Path) -> str:
    """Remove unpublished generations left by a crash, and return an unused name."""
    newest = current(folder)
    _clean(folder, newest)
    number = int(newest.rpartition("-")[2]) + 1 if newest else 1
    return f"generation-{number:06d}"


def state_of(generation: Path) -> dict[str, Any]:
    try:
        state = json.loads((generation / "state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _write(path: Path, text: str) -> None:
    """Write the file atomically."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(fresh, path)


def _clean(folder: Path, *keep: str) -> None:
    """Remove old generations. A reader keeps the mapped files of a generation it has open."""
    for old in folder.glob("generation-*"):
        if old.name not in keep:
            shutil.rmtree(old, ignore_errors=True)
        elif old.name != keep[-1]:  # the writer copies only the newest master
            shutil.rmtree(old / "master", ignore_errors=True)


def reserve(shard: Path) -> None:
    """Give all files of a shard their space before the engine maps them, or raise `StoreFull`. In a
    memory file system, even reading an empty block takes space, and where none is left, the
    operating system kills the process."""
    if not _in_memory(shard):
        return
    try:
        for path in shard.rglob("*"):
            if path.is_file() and (size := path.stat().st_size):
                with path.open("r+b") as file:
                    os.posix_fallocate(file.fileno(), 0, size)
    except OSError as problem:
        if problem.errno == errno.ENOSPC:
            raise StoreFull(
                f"The search index in {shard.parent.parent} cannot be opened: its file system is "
                "full.",
                remedy="Free some space there, or name a folder on a disk in the setting 'index'.",
            ) from problem
        # The writer has removed this generation, for example: loading it reports that.


def _in_memory(folder: Path) -> bool:
    """Whether a folder is in a memory file system, by the list of mounts that Linux keeps."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    mounts = [line.split()[1:3] for line in lines.splitlines()]
    above = [(len(place), kind) for place, kind in mounts if folder.resolve().is_relative_to(place)]
    return max(above, default=(0, ""))[1] in ("tmpfs", "ramfs")


def _ask_for_room(folder: Path, last: Path | None, passages: int) -> None:
    size = sum(file.stat().st_size for file in last.rglob("*") if file.is_file()) if last else 0
    if last is None and _in_memory(folder):
        size = _MAPPED_BYTES
    needed = 2 * (size + passages * _BYTES_A_PASSAGE) + _SPARE_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StoreFull(
            f"The search index needs about {needed / 1e6:.0f} MB in {folder}; only "
            f"{free / 1e6:.0f} MB are free.",
            remedy="Free some disk space, then run the command again. No document is lost.",
        )


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
    must = [
        *(
            q.FieldCondition(key=name, match=q.MatchAny(values))
            for name, values in required_values(allowed).items()
        ),
        *(
            q.FieldCondition(key=name, range=q.RangeFloat(**limits))
            for name, limits in required_days(allowed).items()
        ),
    ]
    return q.Filter(must=must)


def _only(numbers: list[int]) -> Any:
    q = edge()
    return q.Filter(must=[q.HasIdCondition(set(numbers))]) if numbers else None
