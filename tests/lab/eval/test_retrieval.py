"""The measures against values computed by hand, and the bench on a small corpus."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from suffice.errors import SourceMissing, Unreadable
from suffice.lab.eval.retrieval import bench_retrieval, ndcg, recall
from suffice.settings import Settings

CORPUS = [
    {"id": "1", "title": "Leave", "text": "Parental leave lasts twenty weeks."},
    {"id": "2", "title": "Cats", "text": "Cats sleep on the warm roof."},
    {"id": "3", "title": "Pay", "text": "Salaries are paid on the 26th."},
]
QUERIES = [
    {"query": "How long is parental leave?", "relevant": {"1": 1}},
    {"query": "Where do cats sleep?", "relevant": {"2": 1}},
]


def write(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    with gzip.open(path, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def test_measures() -> None:
    assert ndcg(["a", "b"], {"b": 1}, 10) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg(["a", "b"], {"a": 2, "b": 1}, 10) == 1.0
    assert ndcg(["x"], {"a": 1}, 10) == 0.0
    assert recall(["a", "x"], {"a": 1, "b": 1, "c": 0}, 100) == 0.5
    assert recall(["a"], {}, 100) == 0.0


def test_bench_retrieval(tmp_path: Path) -> None:
    figures = bench_retrieval(
        write(tmp_path / "c.jsonl.gz", CORPUS),
        write(tmp_path / "q.jsonl.gz", QUERIES),
        Settings(),
        lambda *_: None,
    )
    for way in ("reranked", "hybrid", "bm25", "dense"):
        assert figures[way]["ndcg@10"] == 1.0
        assert figures[way]["recall@100"] == 1.0
        assert figures[way]["p50_ms"] > 0
    assert figures["run"]["data"].keys() == {"c.jsonl.gz", "q.jsonl.gz"}


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (b"not json\n", r"c\.jsonl, line 1: cannot be read as JSON"),
        (b'{"id": "1"}\n', "no field text"),
        (b'{"id": "1", "text": null}\n', "'text' is NoneType"),
        (b"", "no rows"),
        (gzip.compress(b'{"id": "1", "text": "x"}', mtime=0)[:-9], "cannot be read"),
    ],
)
def test_bad_rows(tmp_path: Path, rows: bytes, says: str) -> None:
    corpus = tmp_path / ("c.jsonl.gz" if rows[:2] == b"\x1f\x8b" else "c.jsonl")
    corpus.write_bytes(rows)
    queries = write(tmp_path / "q.jsonl.gz", QUERIES)
    with pytest.raises(Unreadable, match=says):
        bench_retrieval(corpus, queries, Settings(), lambda *_: None)
    with pytest.raises(SourceMissing):
        bench_retrieval(tmp_path / "none", queries, Settings(), lambda *_: None)
