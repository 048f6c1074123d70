"""A batch gives every row once, in order, whatever the chunks, the format and the interruptions."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from suffice.checker import Checker
from suffice.errors import ModelUnreachable, SourceMissing, StoreBusy, SufficeError
from suffice.lab.batch.output import Workspace
from suffice.settings import Settings, VerdictSettings
from tests.fakes import HashEmbedder
from tests.lab.batch.batches import DAY, read_lines, rows, work, work_until, write_lines
from tests.lab.eval.overlap import OverlapVerifier
from tests.processes import ended, started

ROWS = 60


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.engine.open_verifier", lambda *_: OverlapVerifier())
    monkeypatch.setattr("suffice.engine.open_embedder", lambda *_: HashEmbedder())


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write_lines(tmp_path / "rows.jsonl", rows(ROWS))


def test_every_row_once_and_in_order(source: Path, tmp_path: Path) -> None:
    done = work([source], tmp_path / "out.jsonl")
    found = read_lines(tmp_path / "out.jsonl")
    assert [row["id"] for row in found] == [f"row-{n}" for n in range(ROWS)]
    assert [row["row"] for row in found] == list(range(1, ROWS + 1))
    assert {row["file"] for row in found} == {str(source)}
    verdicts = {row["verdict"] for row in found}
    assert len(verdicts) > 1  # a wrong number is not served
    assert (done.rows, done.bad, done.bad_rows) == (ROWS, 0, "")
    assert sum(done.counts.values()) == ROWS
    assert found[1]["claims"][0]["support"] == "CONTRADICTED"
    assert "passages" not in found[0]
    assert not (tmp_path / "out.jsonl.work").exists()


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_the_size_of_the_chunks_changes_nothing(source: Path, tmp_path: Path, chunk: int) -> None:
    work([source], tmp_path / "a.jsonl", chunk_rows=13)
    work([source], tmp_path / "b.jsonl", chunk_rows=chunk)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_compressed_files_give_the_same(source: Path, tmp_path: Path) -> None:
    packed = write_lines(tmp_path / "rows.jsonl.gz", rows(ROWS))
    work([source], tmp_path / "a.jsonl")
    work([packed], tmp_path / "b.jsonl.gz", chunk_rows=11)
    plain, unpacked = read_lines(tmp_path / "a.jsonl"), read_lines(tmp_path / "b.jsonl.gz")
    assert [{**row, "file": ""} for row in plain] == [{**row, "file": ""} for row in unpacked]


def test_several_files_globs_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(3):
        write_lines(folder / f"{n}.jsonl", rows(5, start=5 * n))
    (folder / "notes.txt").write_text("not a row")
    expected = [f"row-{n}" for n in range(15)]
    for place, inputs in enumerate(([folder], [folder / "*.jsonl"], [folder / "0.jsonl", folder])):
        out = tmp_path / f"{place}.jsonl"
        work(inputs, out, chunk_rows=4)
        assert [row["id"] for row in read_lines(out)] == expected
    with pytest.raises(SourceMissing, match="No input file matches"):
        work([folder / "*.parquet"], tmp_path / "none.jsonl")
    with pytest.raises(SourceMissing, match="There is no file"):
        work([folder / "absent.jsonl"], tmp_path / "none.jsonl")


def test_unusable_rows_go_to_a_side_file_with_the_reason(tmp_path: Path) -> None:
    good = rows(1)[0]
    source = write_lines(
        tmp_path / "rows.jsonl",
        [
            good,
            "",
            "{broken",
            [1, 2],
            {**good, "answer": None},
            {**good, "answer": 7, "id": "seven"},
            {**good, "evidence": None},
            {**good, "evidence": [3]},
            {**good, "question": 4},
            {**good, "answer": "x" * 200_000},
            good,
        ],
    )
    done = work([source], tmp_path / "out.jsonl", chunk_rows=3)
    bad = read_lines(Path(done.bad_rows))
    assert [row["row"] for row in read_lines(tmp_path / "out.jsonl")] == [1, 11]
    assert [row["row"] for row in bad] == list(range(3, 11))
    assert bad[3]["id"] == "seven"
    for row, part in zip(bad, ("JSON", "object", '"answer"', "int", '"evidence"', "Passage 1",
                               '"question"', "limit"), strict=True):  # fmt: skip
        assert part in row["reason"], row


def test_a_row_over_the_size_limit_is_one_bad_row(tmp_path: Path) -> None:
    long = {**rows(1)[0], "answer": "word " * 400_000}
    source = write_lines(tmp_path / "rows.jsonl", [rows(1)[0], long, *rows(2)])
    settings = Settings()
    object.__setattr__(settings.read, "max_bytes", 10_000)
    done = work([source], tmp_path / "out.jsonl", chunk_rows=1, settings=settings)
    assert [row["row"] for row in read_lines(tmp_path / "out.jsonl")] == [1, 3, 4]
    assert "over the limit of 10,000 bytes" in read_lines(Path(done.bad_rows))[0]["reason"]


def test_killed_anywhere_the_next_run_finishes(source: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.jsonl", tmp_path / "out.jsonl"
    work([source], whole)
    before = 0
    for point in ("rows 1", "rows 25", f"rows {ROWS}"):
        assert ended(started(work_until, source, out, point)) == -signal.SIGKILL
        assert not out.exists()
        kept = len(Workspace(tmp_path / "out.jsonl.work").finished())
        assert kept >= before  # nothing finished is lost
        before = kept
    assert before == ROWS // 10
    assert ended(started(work_until, source, out)) == 0
    assert out.read_bytes() == whole.read_bytes()


def test_finished_parts_are_not_computed_again(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    check = Checker.check

    def noting(self: Checker, answer: str, *rest: Any) -> Any:
        seen.append(answer)
        return check(self, answer, *rest)

    class Stopped(Exception):
        pass

    def stop(what: str, done: int, total: int) -> None:
        if done == 40:
            raise Stopped

    out = tmp_path / "out.jsonl"
    with pytest.raises(Stopped):
        work([source], out, chunk_rows=20, report=stop)
    (tmp_path / "out.jsonl.work" / "part-00000002.new").write_bytes(b"+{half a li")
    monkeypatch.setattr(Checker, "check", noting)
    done = work([source], out, chunk_rows=5)
    assert seen == [row["answer"] for row in rows(20, 40)]
    assert done.resumed == 40
    assert [row["id"] for row in read_lines(out)] == [f"row-{n}" for n in range(ROWS)]


def test_killed_between_publishing_and_cleaning_up(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, clear = tmp_path / "out.jsonl", Workspace.clear

    def die(self: Workspace) -> None:
        if self.finished():
            raise KeyboardInterrupt
        clear(self)

    with monkeypatch.context() as patched:
        patched.setattr(Workspace, "clear", die)
        with pytest.raises(KeyboardInterrupt):
            work([source], out)
    first = out.read_bytes()
    assert work([source], out).resumed == ROWS
    assert out.read_bytes() == first
    assert not (tmp_path / "out.jsonl.work").exists()


def test_a_resumed_run_keeps_its_day(source: Path, tmp_path: Path) -> None:
    expired = {"text": "Rule 1 lasts 2 weeks.", "expires": str(DAY)}
    changed = [{**row, "evidence": [expired, "Rule 1 lasts 9 weeks."]} for row in rows(4, 1)]
    source = write_lines(tmp_path / "dated.jsonl", changed)
    later = DAY + timedelta(days=30)
    work([source], tmp_path / "a.jsonl")
    work([source], tmp_path / "later.jsonl", day=later)

    def stop(what: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work([source], tmp_path / "b.jsonl", chunk_rows=1, report=stop)
    work([source], tmp_path / "b.jsonl", day=later)
    first, resumed, other = (tmp_path / f"{name}.jsonl" for name in ("a", "b", "later"))
    assert first.read_bytes() == resumed.read_bytes()
    assert first.read_bytes() != other.read_bytes()  # the day matters for these rows


def interrupted(source: Path, out: Path) -> None:
    def stop(what: str, done: int, total: int) -> None:
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work([source], out, chunk_rows=10, report=stop)


def test_changed_input_or_settings_are_not_mixed_in(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    interrupted(source, out)
    other = Settings(verdict=VerdictSettings(routes=("else -> WITHHOLD",)))
    with pytest.raises(SufficeError, match="settings"):
        work([source], out, settings=other)
    write_lines(source, rows(ROWS + 1))
    with pytest.raises(SufficeError, match="input files changed"):
        work([source], out)
    assert work([source], out, restart=True).rows == ROWS + 1


def test_an_existing_output_is_not_overwritten(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    with pytest.raises(SufficeError, match="already exists"):
        work([source], out)
    assert out.read_text() == "precious"
    work([source], out, restart=True)
    assert len(read_lines(out)) == ROWS


def test_only_one_process_works_on_an_output(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with Workspace(tmp_path / "out.jsonl.work").alone(), pytest.raises(StoreBusy):
        work([source], out)


def test_a_fault_of_the_model_stops_the_run_and_marks_no_row(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: Any, **__: Any) -> None:
        raise ModelUnreachable("The endpoint does not respond.")

    with monkeypatch.context() as patched:
        patched.setattr("suffice.checker.Checker.check", unreachable)
        with pytest.raises(ModelUnreachable):
            work([source], tmp_path / "out.jsonl")
    assert work([source], tmp_path / "out.jsonl").bad == 0


def test_a_bug_costs_one_row(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Checker.check

    def sometimes(self: Checker, answer: str, *rest: Any) -> Any:
        if "Rule 3 " in answer:
            raise ZeroDivisionError("oops")
        return check(self, answer, *rest)

    monkeypatch.setattr(Checker, "check", sometimes)
    done = work([source], tmp_path / "out.jsonl")
    assert done.bad == 1
    assert "ZeroDivisionError" in read_lines(Path(done.bad_rows))[0]["reason"]


def test_work_on_another_file_system(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def across(old: Path, new: str) -> None:
        if Path(old).parent != Path(new).parent:
            raise OSError(18, "Invalid cross-device link")
        replace(old, new)

    monkeypatch.setattr("suffice.lab.batch.output.os.replace", across)
    work([source], tmp_path / "out.jsonl", work=tmp_path / "elsewhere" / "w")
    assert len(read_lines(tmp_path / "out.jsonl")) == ROWS


def test_the_gate_of_every_row(source: Path, tmp_path: Path) -> None:
    done = work([source], tmp_path / "gate.jsonl", "gate")
    found = read_lines(tmp_path / "gate.jsonl")
    assert len(found) == ROWS
    assert {"open", "level", "score", "missing"} <= found[0].keys()
    assert sum(done.counts.values()) == ROWS


def test_no_rows_give_an_empty_output(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "rows.jsonl", [])
    assert work([source], tmp_path / "out.jsonl").rows == 0
    assert (tmp_path / "out.jsonl").read_bytes() == b""
