"""`suffice monitor`, `gaps` and `golden`: what is printed, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from suffice.cli import cli
from suffice.lab.golden import golden_runs
from suffice.log.log import Log
from suffice.log.stored import RecordFilter
from suffice.sql.database import Database
from tests.conftest import HANDBOOK
from tests.lab.monitor.stream import answer, certificate, refusal, write


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "s.db"


@pytest.fixture
def log(store: Path) -> Iterator[Log]:
    opened = Log(Database.open(store, create=True))
    yield opened
    opened.close()
    opened.database.close()


def call(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)


def told(*words: object) -> Any:
    return json.loads(call(*words, "--json").stdout)


def test_monitor_shows_metrics_and_alarms(log: Log, store: Path) -> None:
    write(log, [answer(), answer(fabricated=True), refusal()])
    done = call("monitor", "--store", store)
    assert done.return_value == 2
    assert "No guarantee." in done.stdout
    assert "RAISED" in done.stdout
    assert "Alarm since" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words in ("faithfulness", "fact_score", "withhold_rate", "rising trend", "> 2 × baseline"):
        assert words in done.stdout
    found = told("monitor", "--store", store)
    assert found["alarms"] == ["fabricated_citation_rate"]
    assert found["metrics"]["faithfulness"]["value"] == 1
    assert found["guarantee"]["status"] == "none"


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (("monitor",), ["--store"]),
        (("gaps",), ["--store"]),
        (("audit", "verify"), ["--store"]),
        (("documents", "list"), ["--store"]),
        (("ask", "When is pay day?"), ["--docs", "--store"]),
    ],
)
def test_a_missing_store_names_only_options_that_the_command_has(
    store: Path, command: tuple[str, ...], options: list[str]
) -> None:
    remedy = getattr(call(*command).exception, "remedy", "")
    assert "suffice index FOLDER" in remedy
    assert [word for word in remedy.split() if word.startswith("--")] == options


def test_deep_checks_need_a_stronger_verifier(log: Log, store: Path, tmp_path: Path) -> None:
    (tmp_path / "suffice.yaml").write_text("verifier:\n  strong: true\n")
    assert "no verifier stronger" in str(call("monitor", "--deep", "--store", store).exception)


def test_monitor_tells_of_a_suspended_guarantee(log: Log, store: Path, tmp_path: Path) -> None:
    reference = [0.9 + n / 4000 for n in range(300)]
    own = certificate(tmp_path / "t.json", reference, gate=0.5, confidence=0.85)
    (tmp_path / "suffice.yaml").write_text("verdict:\n  thresholds_file: t.json\n")
    assert call("monitor", "--store", store).return_value == 0
    write(log, [answer(confidence=0.5 + n / 400) for n in range(60)], own)
    done = call("monitor", "--store", store)
    assert done.return_value == 2
    assert "Guarantee SUSPENDED since" in done.stdout
    assert "gate 0.60, confidence 0.85" in " ".join(done.stdout.split())


def test_monitor_tells_of_the_certificate_of_a_route(log: Log, store: Path, tmp_path: Path) -> None:
    reference = [0.9 + n / 4000 for n in range(300)]
    own = certificate(tmp_path / "hr.json", reference, gate=0.5, confidence=0.85)
    (tmp_path / "suffice.yaml").write_text(
        "server: {routes: {default: {}, hr: {verdict: {thresholds_file: hr.json}}}}\n"
    )
    assert call("monitor", "--store", store).return_value == 0
    write(log, [answer(confidence=0.5 + n / 400) for n in range(60)], own)
    done = call("monitor", "--store", store)
    assert done.return_value == 2
    assert "hr.json\nGuarantee SUSPENDED since" in done.stdout
    assert "Drift test of hr.json" in done.stdout
    found = told("monitor", "--store", store)
    assert found["guarantee"]["status"] == "none"
    assert [(one["file"], one["status"]) for one in found["certificates"]] == [
        ("hr.json", "suspended")
    ]


def test_gaps_are_listed_and_exported(store: Path, log: Log, tmp_path: Path) -> None:
    formula = "=What is the dress code?"
    write(log, [refusal(one) for one in (formula, formula, "Is there a dress code?")])
    write(log, [refusal("How many days per week may I work remotely?")])
    done = call("gaps", "--store", store, "--quiet", "--export", tmp_path / "b.csv")
    assert "asked 3 times, new" in done.stdout
    assert "also: " in done.stdout
    written = (tmp_path / "b.csv").read_text()
    assert written.count("\n") == 3
    assert "'=What is the dress code?" in written  # a spreadsheet must not run it
    call("gaps", "--store", store, "--quiet", "--export", tmp_path / "b.md")
    assert (tmp_path / "b.md").read_text().startswith("- [ ] ")
    call("index", HANDBOOK / "remote-work.md", "--store", store, "--quiet")
    found = told("gaps", "--store", store)
    assert [one["count"] for one in found] == [3]  # the handbook answers the other question
    assert "is not supported" in str(call("gaps", "--store", store, "--export", "b.txt").exception)


QUESTION = "How many days per week may I work remotely?"


def expecting(file: Path, expected: str, *more: object) -> Result:
    file.write_text(json.dumps({"question": QUESTION, "answers_all": [[expected]]}))
    return call("golden", "run", file, "--quiet", *more)


def test_a_golden_set_runs_the_whole_pipeline(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "golden.jsonl"
    docs = HANDBOOK / "remote-work.md"
    first = expecting(file, "3 days", "--docs", docs, "--store", store)
    assert (first.return_value, "1 of 1 cases pass." in first.stdout) == (0, True)
    log = Log.open(store)
    assert not list(log.entries(RecordFilter(kind="verdict")))  # it is no traffic
    log.close()
    log.database.close()


def test_a_regression_of_the_golden_set_fails(
    log: Log, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = replace(answer(QUESTION), released="Up to 3 days.")
    monkeypatch.setattr("suffice.cli.golden._Asking.__call__", lambda self, case: served)
    file = tmp_path / "golden.jsonl"

    def run(expected: str, *more: object) -> Result:
        return expecting(file, expected, "--store", store, *more)

    assert run("3 days").return_value == 0
    worse = run("4 days")
    assert (worse.return_value, "Regressions" in worse.stdout) == (1, True)
    assert run("4 days").return_value == 1  # the good run is still the last one
    assert run("4 days", "--accept").return_value == 1
    assert run("4 days").return_value == 0
    assert run("4 days", "--strict").return_value == 1
    told = run("4 days", "--strict", "--github", "--junit", tmp_path / "golden.xml")
    assert f"::error file={file.as_posix()},line=1,title=" in told.stderr
    assert 'failures="1"' in (tmp_path / "golden.xml").read_text()
    fixed = run("3 days")
    assert "Fixed" in fixed.stdout
    baseline = tmp_path / "golden.run.json"
    found = json.loads(run("4 days", "--baseline", baseline, "--json").stdout)
    assert (found["failed"], found["passed"], found["cases"]) == (True, 0, 1)
    assert found["regressions"][0]["was"]["passed"] is True
    runs = golden_runs(log)
    assert [(one.passed, one.regressions, one.fixed) for one in runs[:3]] == [
        (0, 1, 0),
        (1, 0, 1),
        (0, 0, 0),
    ]
    assert runs[0].set == "golden.jsonl"
    run("3 days", "--no-record")
    assert len(golden_runs(log)) == len(runs)
