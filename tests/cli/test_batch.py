"""`suffice batch`: arguments, summary and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import SettingsError
from tests.fakes import HashEmbedder
from tests.lab.batch.batches import read_lines, rows, write_lines
from tests.lab.eval.overlap import OverlapVerifier


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.engine.open_verifier", lambda *_: OverlapVerifier())
    monkeypatch.setattr("suffice.engine.open_embedder", lambda *_: HashEmbedder())


def run(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(cli, ["batch", *map(str, arguments)], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, done.stdout


def test_the_summary_and_the_exit_code(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "rows.jsonl", rows(6))
    code, said = run("check", source, tmp_path / "out.jsonl", "--quiet")
    assert code == 0
    assert "6 rows" in said
    assert "not usable" not in said
    flawed = write_lines(tmp_path / "flawed.jsonl", [*rows(2), "{"])
    code, said = run("check", source, flawed, tmp_path / "two.jsonl", "--chunk", 2)
    assert code == 2
    assert f"{tmp_path / 'two.jsonl'}.bad.jsonl" in said
    assert [row["row"] for row in read_lines(tmp_path / "two.jsonl")] == [*range(1, 7), 1, 2]


def test_json(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "rows.jsonl", rows(4))
    out = tmp_path / "out.jsonl"
    code, said = run("gate", source, out, "--json", "--policy", "coverage")
    summary: dict[str, Any] = json.loads(said)
    assert code == 0
    assert (summary["rows"], summary["bad"], summary["output"]) == (4, 0, str(out))
    assert sum(summary["counts"].values()) == 4
    assert {row["policy"] for row in read_lines(out)} == {"coverage"}


def test_uncited_answers(tmp_path: Path) -> None:
    plain = [{**row, "answer": row["answer"].replace(" [1]", "")} for row in rows(1)]
    source = write_lines(tmp_path / "rows.jsonl", plain)
    run("check", source, tmp_path / "a.jsonl", "--uncited")
    run("check", source, tmp_path / "b.jsonl")
    cited, uncited = read_lines(tmp_path / "b.jsonl")[0], read_lines(tmp_path / "a.jsonl")[0]
    assert uncited["verdict"] == "SERVE"
    assert cited["claims"] != uncited["claims"]


def test_options_of_ray_without_ray(tmp_path: Path) -> None:
    source = write_lines(tmp_path / "rows.jsonl", rows(1))
    with pytest.raises(SettingsError, match="--engine ray"):
        run("check", source, tmp_path / "out.jsonl", "--workers", 2)
