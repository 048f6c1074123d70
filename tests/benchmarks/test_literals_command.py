"""`python -m benchmarks literals`: cases from templates or from rows, as a table or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from benchmarks.__main__ import benchmarks


def run(*args: str) -> str:
    done = CliRunner().invoke(benchmarks, ["literals", *args], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_the_table_shows_shares_beside_what_is_wanted() -> None:
    shown = run("--n", "20", "--seed", "5")
    for said in ("one number, date or unit changed", "95% or more", "3% or less"):
        assert said in shown


def test_json_has_the_shares_and_what_went_wrong() -> None:
    figures = json.loads(run("--n", "15", "--json"))
    assert figures["edits"]["n"] == figures["rewordings"]["n"] == 15
    assert set(figures["edits"]) == {"n", "share", "by", "wrong"}
    assert figures["wanted"] == {"caught": 0.95, "flagged": 0.03}
    assert figures["run"]["versions"]


def test_rows_may_be_named(tmp_path: Path) -> None:
    row = {"claim": "It has 40 rooms [1].", "evidence": "It has 40 rooms.", "label": "entail"}
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(row) + "\n")
    figures = json.loads(run(str(file), "--json"))
    assert figures["edits"] == {"n": 1, "share": 1.0, "by": {"number": 1.0}, "wrong": []}
    assert figures["rewordings"]["share"] == 0
    assert figures["run"]["data"]
