"""A golden set: what is expected of each question, and what changed since the last run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from suffice.errors import Unreadable
from suffice.lab.golden import GoldenCase, compare, read_golden, read_run, run
from suffice.types import Action, Verdict
from tests.lab.monitor.stream import answer, refusal

SERVED = answer()
CONFLICT = replace(answer(), action=Action.CONFLICT)


def golden(path: Path, *rows: Mapping[str, Any]) -> tuple[GoldenCase, ...]:
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return read_golden(path)


def test_what_is_expected(tmp_path: Path) -> None:
    weeks = [["18 weeks", "eighteen weeks"]]
    cases = golden(
        tmp_path / "g.jsonl",
        {"question": "1", "answers_all": weeks},
        {"question": "2", "answers_all": [["20 weeks"]]},
        {"question": "3", "answerable": False},
        {"question": "4", "verdict": "SERVE"},
        {"question": "5", "verdict": ["CONFLICT", "REVIEW"]},
        {"question": "6", "verdict": ["SERVE", "WITHHOLD"], "answers_all": weeks},
    )
    found = [[case.passes(verdict) for verdict in (SERVED, refusal(), CONFLICT)] for case in cases]
    assert found == [
        [True, False, False],
        [False, False, False],
        [False, True, False],
        [True, False, False],
        [False, False, True],
        [True, True, False],
    ]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"question": "a"}, "expected outcome is missing"),
        ({"question": "a", "answerable": True}, "answers_all is missing"),
        ({"question": "a", "verdict": "MAYBE"}, "SERVE, CAVEAT"),
        ({"question": "a", "verdict": []}, "verdict"),
    ],
)
def test_a_row_that_expects_nothing_is_refused(
    row: Mapping[str, Any], why: str, tmp_path: Path
) -> None:
    with pytest.raises(Unreadable) as refused:
        golden(tmp_path / "g.jsonl", row)
    assert why in str(refused.value)


def test_a_question_occurs_once(tmp_path: Path) -> None:
    row = {"question": "a", "verdict": "SERVE"}
    with pytest.raises(Unreadable, match="twice"):
        golden(tmp_path / "g.jsonl", row, row)
    assert len(golden(tmp_path / "g.jsonl", row, {**row, "collection": "hr"})) == 2


def silent(what: str, done: int, total: int) -> None:
    pass


def test_runs_are_compared_case_by_case(tmp_path: Path) -> None:
    file = tmp_path / "g.jsonl"
    names = ("kept", "worse", "better", "bad")
    cases = golden(file, *({"question": one, "verdict": "SERVE"} for one in names))

    def answers(*served: str) -> Any:
        def ask(case: GoldenCase) -> Verdict:
            return SERVED if case.question.question in served else refusal()

        return ask

    first = run(cases, answers("kept", "worse"), file, silent)
    first.write(tmp_path / "run.json")
    before = read_run(tmp_path / "run.json")
    assert before == first
    more = (*cases[:2], *cases[2:], *golden(file, {"question": "new", "verdict": "SERVE"}))
    now = run(more[1:], answers("better"), file, silent)
    found = compare(before, now)
    assert [one.question for one in found.regressions] == ["worse"]
    assert (found.regressions[0].was.action, found.regressions[0].now.action) == (
        "SERVE",
        "WITHHOLD",
    )
    assert [one.question for one in found.fixed] == ["better"]
    assert [one.question for one in found.still] == ["bad"]
    assert (found.new, found.removed) == (("new",), ("kept",))
    assert compare(None, now).new == ("worse", "bad", "new")
    assert first.run["versions"]["suffice"]


def test_a_file_that_is_no_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    for text in ("", "[]", '{"cases": {"a": {"odd": 1}}, "run": {}}'):
        file.write_text(text)
        with pytest.raises(Unreadable, match="golden"):
            read_run(file)
