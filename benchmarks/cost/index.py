"""Search time, memory and disk space by the number of passages in the index.

The passages are made up: words with the frequencies of a language (Zipf), and vectors around a few
thousand topics. They take the same path as real ones, from `publish` to `EdgeIndex.search`, but do
not come from SQL.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from benchmarks.cost.series import Series, shortest
from suffice.errors import StoreError
from suffice.evidence.edge import EdgeIndex, current, publish
from suffice.evidence.index import Filter
from suffice.evidence.ingest import Progress
from suffice.evidence.rows import StoredPassage, Vectors
from suffice.evidence.store import Store
from suffice.models.embedder import unit
from suffice.settings import SearchSettings
from suffice.types import Passage

SIZES = (1_000, 10_000, 100_000)
MODEL, DIMENSION = "made-up", 384
_VOCABULARY, _TOPICS, _WORDS, _QUERY_WORDS = 50_000, 2_000, 100, 8
_BATCH = 500
_QUERIES = 20


@dataclass(frozen=True, slots=True)
class MadeUp:
    """The part of a store that an index is built from."""

    folder: Path
    count: int
    id: str = "bench"
    epoch: int = 1

    @property
    def index(self) -> Path:
        return self.folder / str(self.count)

    def last_change(self) -> int:
        return 1

    def count_changes(self, since: int) -> int:
        return self.count

    def changes(self, since: int, model: str, batch: int = _BATCH) -> Iterator[list[StoredPassage]]:
        draw = np.random.default_rng(1)
        for first in range(0, self.count, batch):
            rows = min(batch, self.count - first)
            vectors, texts = made_vectors(draw, rows), made_texts(draw, rows, _WORDS)
            yield [
                StoredPassage(first + n + 1, Passage(str(first + n), texts[n], "doc", "1"), one)
                for n, one in enumerate(vectors)
            ]


def made_vectors(draw: np.random.Generator, rows: int) -> Vectors:
    """Unit vectors, each near one of the topics."""
    noise = draw.standard_normal((rows, DIMENSION), dtype=np.float32)
    return unit(_topics()[draw.integers(0, _TOPICS, rows)] + noise)


@cache
def _topics() -> Vectors:
    return np.random.default_rng(0).standard_normal((_TOPICS, DIMENSION), dtype=np.float32)


def made_texts(draw: np.random.Generator, rows: int, words: int) -> list[str]:
    """Texts in which the n-th most frequent word is n times rarer than the first."""
    places = np.searchsorted(_frequencies(), draw.random((rows, words)))
    return [" ".join(f"term{place:x}" for place in row) for row in places]


@cache
def _frequencies() -> NDArray[np.float64]:
    shares: NDArray[np.float64] = np.cumsum(1 / np.arange(1, _VOCABULARY + 1))
    shares /= shares[-1]
    return shares


def searching(
    folder: Path, sizes: Sequence[int], repeats: int, progress: Progress
) -> Iterator[tuple[str, Series]]:
    """Build an index of each size in `folder`, then search them in turns."""
    stores = {size: MadeUp(folder, size) for size in sizes}
    for done, store in enumerate(stores.values()):
        progress("indexes", done, len(sizes))
        publish(cast(Store, store), MODEL, DIMENSION)
    progress("indexes", len(sizes), len(sizes))
    indexes = {size: EdgeIndex(cast(Store, store), MODEL) for size, store in stores.items()}
    works = {size: lambda turn, index=index: _search(index) for size, index in indexes.items()}
    times = {
        size: ms / _QUERIES for size, ms in shortest(works, repeats, time.process_time).items()
    }
    more = {
        size: {"memory_mb": _memory(store), "disk_mb": _disk(store)}
        for size, store in stores.items()
    }
    yield "index", Series("Index size", "passages", "processor time of a search", times, more)


def _search(index: EdgeIndex) -> None:
    """The same queries in every call."""
    draw, depth = np.random.default_rng(2), SearchSettings().candidates
    vectors, texts = made_vectors(draw, _QUERIES), made_texts(draw, _QUERIES, _QUERY_WORDS)
    for vector, text in zip(vectors, texts, strict=True):
        index.search(vector, text, Filter(), depth)


_FRESH = """
import sys
from pathlib import Path
from benchmarks.cost.index import peak_after_search
print(peak_after_search(Path(sys.argv[1]), int(sys.argv[2])))
"""


def _memory(store: MadeUp) -> int:
    """Peak memory in megabytes of a fresh process that opens the index and searches it."""
    done = subprocess.run(
        [sys.executable, "-c", _FRESH, str(store.folder), str(store.count)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise StoreError(
            f"The index could not be opened in a separate process: {done.stderr.strip()[-200:]}",
            remedy="Check the free memory, or measure smaller indexes.",
        )
    return int(done.stdout)


def peak_after_search(folder: Path, count: int) -> int:
    """Megabytes, from the status of this process on Linux, else from its resource usage."""
    _search(EdgeIndex(cast(Store, MadeUp(folder, count)), MODEL))
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return round(next(int(one.split()[1]) for one in lines if one.startswith("VmHWM")) / 1e3)
    import resource

    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)


def _disk(store: MadeUp) -> int:
    """Megabytes that the published shard takes on disk, without holes."""
    shard = store.index / current(store.index) / "shard"
    blocks = sum(one.stat().st_blocks for one in shard.rglob("*") if one.is_file())
    return round(blocks * 512 / 1e6)
