"""Parquet files and URLs, which need the extra `batch`."""

from __future__ import annotations

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import ExtraMissing, SourceMissing, SufficeError
from suffice.lab.batch.rows import Task
from suffice.lab.batch.run import OnRay, run_batch
from tests.fakes import HashEmbedder
from tests.lab.batch.batches import DAY, read_lines, rows, work, write_lines
from tests.lab.eval.overlap import OverlapVerifier


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.engine.open_verifier", lambda *_: OverlapVerifier())
    monkeypatch.setattr("suffice.engine.open_embedder", lambda *_: HashEmbedder())


def write_table(path: Path, values: list[dict[str, Any]], group: int = 1000) -> Path:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.Table.from_pylist(values), str(path), row_group_size=group)
    return path


def results(path: Path) -> list[dict[str, Any]]:
    return [{**row, "file": ""} for row in read_lines(path)]


@pytest.mark.parametrize(("group", "chunk"), [(1000, 7), (4, 7), (7, 7), (5, 1)])
def test_parquet_gives_what_json_lines_give(tmp_path: Path, group: int, chunk: int) -> None:
    texts = [{**row, "evidence": row["evidence"][:1]} for row in rows(30)]
    table = write_table(tmp_path / "rows.parquet", [{**row, "extra": 1} for row in texts], group)
    work([table], tmp_path / "a.jsonl", chunk_rows=chunk)
    work([write_lines(tmp_path / "rows.jsonl", texts)], tmp_path / "b.jsonl")
    assert results(tmp_path / "a.jsonl") == results(tmp_path / "b.jsonl")


def test_parquet_with_objects_and_dates(tmp_path: Path) -> None:
    evidence = [
        {"text": "Rule 1 lasts 1 weeks.", "title": None, "expires": date(2020, 1, 1)},
        {"text": "Rule 1 lasts 2 weeks.", "title": "Rules", "expires": None},
    ]
    table = write_table(tmp_path / "rows.parquet", [{**rows(1)[0], "evidence": evidence}])
    assert work([table], tmp_path / "out.jsonl").bad == 0
    assert work([table], tmp_path / "gate.jsonl", "gate").bad == 0
    (gated,) = read_lines(tmp_path / "gate.jsonl")
    assert [one["document"] for one in gated["excluded"]] == ["passage-1"]  # it has expired


@pytest.mark.parametrize("kind", ["check", "gate"])
def test_parquet_output_holds_the_same_results(tmp_path: Path, kind: Any) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    source = write_lines(tmp_path / "rows.jsonl", [*rows(20), {**rows(1)[0], "id": 9}])
    work([source], tmp_path / "out.parquet", kind, chunk_rows=6)
    work([source], tmp_path / "out.jsonl", kind)
    table = pq.read_table(str(tmp_path / "out.parquet")).to_pylist()
    lines = read_lines(tmp_path / "out.jsonl")
    assert [json.loads(row["result"]) for row in table] == lines
    for row, line in zip(table, lines, strict=True):
        for name in row.keys() - {"result", "id"}:
            assert row[name] == line[name]
        assert row["id"] == str(line["id"])


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    for name in ("rows.parquet", "rows.jsonl.gz"):
        (tmp_path / name).write_bytes(b"no such format")
        with pytest.raises(SourceMissing, match=name):
            work([tmp_path / name], tmp_path / "out.jsonl")


def run(inputs: list[str], output: str, **options: Any) -> Any:
    return run_batch(Task("check", DAY), inputs, output, **options)


def test_urls(tmp_path: Path) -> None:
    """`file://` goes the way of `s3://`: through the file systems of pyarrow."""
    pytest.importorskip("pyarrow")
    folder = tmp_path / "in"
    (folder / "deeper").mkdir(parents=True)
    write_lines(folder / "a.jsonl", rows(5))
    texts = [{**row, "evidence": ["Lunch is at noon."]} for row in rows(5, 5)]
    write_table(folder / "b.parquet", texts)
    write_lines(folder / "c.jsonl.gz", rows(5, 10))
    write_lines(folder / "deeper" / "d.jsonl", rows(5, 15))
    expected = [f"row-{n}" for n in range(20)]
    url = folder.as_uri()
    run([url], str(tmp_path / "all.jsonl"), chunk_rows=2)
    assert [row["id"] for row in read_lines(tmp_path / "all.jsonl")] == expected
    run([f"{url}/*.jsonl*"], str(tmp_path / "some.jsonl"))
    some = read_lines(tmp_path / "some.jsonl")
    assert [row["id"] for row in some] == [*expected[:5], *expected[10:15]]
    assert some[0]["file"] == f"{url}/a.jsonl"
    with pytest.raises(SourceMissing):
        run([f"{url}/absent.jsonl"], str(tmp_path / "none.jsonl"))


def test_an_output_at_a_url(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    source = write_lines(tmp_path / "rows.jsonl", [*rows(3), "{"])
    url = (tmp_path / "out.jsonl").as_uri()
    with pytest.raises(SufficeError, match="--work"):
        run([str(source)], url)
    done = run([str(source)], url, work=tmp_path / "work")
    assert len(read_lines(tmp_path / "out.jsonl")) == 3
    assert done.bad_rows == f"{url}.bad.jsonl"
    assert len(read_lines(tmp_path / "out.jsonl.bad.jsonl")) == 1
    with pytest.raises(SufficeError, match="already exists"):
        run([str(source)], url, work=tmp_path / "work")


def test_a_missing_extra_is_named_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "pyarrow.fs", "pyarrow.parquet", "ray"):
        monkeypatch.setitem(sys.modules, name, None)
    source = write_lines(tmp_path / "rows.jsonl", rows(1))
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    for inputs, output in (
        ([str(source)], str(tmp_path / "out.parquet")),
        ([str(tmp_path / "rows.parquet")], str(tmp_path / "out.jsonl")),
        (["s3://bucket/rows.jsonl"], str(tmp_path / "out.jsonl")),
    ):
        with pytest.raises(ExtraMissing, match=r"suffice\[batch\]"):
            run(inputs, output)
    with pytest.raises(ExtraMissing, match=r"suffice\[ray\]"):
        run([str(source)], str(tmp_path / "out.jsonl"), engine=OnRay())
