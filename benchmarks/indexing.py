"""Measures indexing speed as a share of the bare model's speed, and peak memory."""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from suffice.errors import ModelMissing
from suffice.evidence.ingest import Progress
from suffice.evidence.library import Library
from suffice.evidence.split import embedded_text
from suffice.lab.eval.run_record import run_record
from suffice.models.embedder import OnnxEmbedder
from suffice.settings import Settings


def bench_indexing(source: Path, settings: Settings, progress: Progress) -> dict[str, Any]:
    """Passages per second of `suffice index` compared with the bare ONNX session, in one run."""
    with TemporaryDirectory() as folder:
        library = Library.open(Path(folder) / "bench.db", settings, create=True)
        embedder = library.embedder
        if not isinstance(embedder, OnnxEmbedder):
            raise ModelMissing(
                "The indexing bench compares with a bare ONNX session; this embedder has none.",
                remedy="Set embedder.model to an ONNX model.",
            )
        embedder.embed(["warm up"])
        start = time.perf_counter()
        library.add(source, progress=progress)
        indexing = time.perf_counter() - start
        peak = _peak_megabytes()
        texts = [
            embedded_text(stored.passage)
            for batch in library.store.changes(0, embedder.id)
            for stored in batch
        ]
    prepared = embedder.prepare(texts)
    start = time.perf_counter()
    for ids, mask in prepared:
        embedder.infer(ids, mask)
    bare = time.perf_counter() - start
    return {
        "passages": len(texts),
        "indexing_per_s": round(len(texts) / indexing, 1),
        "bare_session_per_s": round(len(texts) / bare, 1),
        "ratio": round(bare / indexing, 3),
        "peak_memory_mb": peak,
        "run": run_record(),
    }


def _peak_megabytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1e6 if sys.platform == "darwin" else 1e3))
