"""A golden run as annotations and as JUnit: what fails the run, where, and why."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from suffice.cli.golden import run_
from suffice.lab.golden import (
    Outcome,
    Run,
    compare,
    failed_cases,
    github_annotations,
    junit,
    read_golden,
)
from tests.conftest import ROOT

WORKFLOW = ROOT / "examples" / "integrations" / "github-actions.yaml"
FILE = Path("sets/a,b.jsonl")


@pytest.fixture
def failed(tmp_path: Path) -> Any:
    """The cases that fail, by strictness, and the run: one regression and one old failure."""
    file = tmp_path / "g.jsonl"
    rows = [
        {"question": "Right?", "verdict": "SERVE"},
        {"question": "Worse, at 50%: why?", "answers_all": [["3 days", "three days"]]},
        {"question": "Old\x0b?", "verdict": ["SERVE", "CAVEAT"]},
    ]
    file.write_text("\n\n".join(json.dumps(row) for row in rows))
    cases = read_golden(file)
    names = [one.question.question for one in cases]
    good = Outcome(True, "SERVE")
    bad = Outcome(False, "WITHHOLD", reason="Not covered\nby the documents.")
    now = Run(dict(zip(names, (good, bad, bad), strict=True)))
    before = Run(dict(zip(names, (good, good, bad), strict=True)))

    def found(strict: bool) -> Any:
        return failed_cases(cases, now, compare(before, now), strict=strict), now

    return found


def test_annotations_name_the_line_and_escape_what_github_reads(failed: Any) -> None:
    worse, old = github_annotations(FILE, failed(False)[0])
    assert worse == (
        "::error file=sets/a%2Cb.jsonl,line=3,title=Golden case%3A Worse%2C at 50%25%3A why?::"
        "Expected an answer with “3 days” or “three days”; got WITHHOLD (before: SERVE): "
        "Not covered by the documents."
    )
    assert old.startswith("::warning file=sets/a%2Cb.jsonl,line=5,")
    assert "Expected SERVE or CAVEAT; got WITHHOLD: Not covered" in old
    assert [one.partition(" ")[0] for one in github_annotations(FILE, failed(True)[0])] == [
        "::error"
    ] * 2


@pytest.mark.parametrize(("strict", "failures"), [(False, 1), (True, 2)])
def test_junit_counts_what_fails_the_run(failed: Any, strict: bool, failures: int) -> None:
    cases, now = failed(strict)
    suite = ElementTree.fromstring(junit(FILE, now, cases))
    assert {name: int(suite.get(name, "")) for name in ("tests", "failures", "skipped")} == {
        "tests": 3,
        "failures": failures,
        "skipped": 2 - failures,
    }
    assert len(suite.findall("testcase/failure")) == failures
    assert len(suite.findall("testcase/skipped")) == 2 - failures
    assert [one.get("line") for one in suite.findall("testcase")] == [None, "3", "5"]


def test_the_workflow_uses_options_that_exist() -> None:
    steps = yaml.safe_load(WORKFLOW.read_text())["jobs"]["golden"]["steps"]
    (command,) = [one["run"] for one in steps if one.get("run", "").startswith("suffice")]
    words = shlex.split(command)
    assert words[:3] == ["suffice", "golden", "run"]
    known = {name for option in run_.params for name in option.opts}
    assert {one for one in words if one.startswith("--")} <= known
