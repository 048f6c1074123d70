"""The indexing benchmark on a small document."""

from __future__ import annotations

from pathlib import Path

from benchmarks.indexing import bench_indexing
from suffice.settings import Settings


def test_bench_indexing(handbook: Path) -> None:
    figures = bench_indexing(handbook / "expenses.md", Settings(), lambda *_: None)
    assert figures["passages"] > 3
    assert figures["ratio"] < 2
    assert figures["peak_memory_mb"] > 0
