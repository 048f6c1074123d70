"""Questions about another time, from the documents to the answer."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from suffice import Library
from suffice.engine import Engine
from suffice.pipeline import Pipeline
from suffice.types import Action, Verdict

OLD = """---
title: Locker rules
version: "1.0"
effective: 2022-01-01
---
# Locker rules

## Deposit

The deposit for a locker key is 10 euros. Lockers are emptied every 6 months.
"""
NEW = OLD.replace("1.0", "2.0").replace("2022", "2025").replace("10 euros", "15 euros")
OTHER = """---
title: Canteen
version: "3"
effective: 2024-01-01
---
# Canteen

A staff lunch costs 4.80 euros. The canteen was closed in 2023.
"""

pytestmark = pytest.mark.usefixtures("any_day")


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("documents")
    for name, text in (("lockers-1", OLD), ("lockers-2", NEW), ("canteen", OTHER)):
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    library = Library.open(Path(tmp_path_factory.mktemp("store")) / "store.db", create=True)
    library.add(folder)
    return Engine(library=library).pipeline()


def versions(verdict: Verdict) -> set[str]:
    return {cited.passage.version for cited in verdict.citations}


@pytest.mark.parametrize(
    "question",
    [
        "How high was the deposit for a locker key in 2023?",
        "How high was the deposit for a locker key before January 2025?",
        "What was the deposit for a locker key under the previous rules?",
        "What did version 1.0 say about the deposit for a locker key?",
        "What was the deposit for a locker key before the current locker rules?",
    ],
)
def test_the_version_of_the_time_answers_and_is_named(pipeline: Pipeline, question: str) -> None:
    verdict = pipeline.answer(question)
    assert verdict.action in (Action.SERVE, Action.CAVEAT)
    assert "10 euros" in verdict.released
    assert "15 euros" not in verdict.released
    assert versions(verdict) == {"1.0"}
    assert any("version 1.0 (in force from 2022-01-01" in note for note in verdict.notes)
    assert verdict.question == question


@pytest.mark.parametrize(
    "question",
    [
        "What changed in the locker rules?",
        "How have the locker rules changed?",
        "What changed between version 1.0 and version 2.0 of the locker rules?",
        "How did the deposit for a locker key change?",
    ],
)
def test_what_changed_cites_both_versions_and_names_them(pipeline: Pipeline, question: str) -> None:
    verdict = pipeline.answer(question)
    assert verdict.action is Action.CAVEAT
    assert versions(verdict) == {"1.0", "2.0"}
    assert any("version 1.0" in note and "version 2.0" in note for note in verdict.notes)


@pytest.mark.parametrize(
    "question", ["How has the canteen changed?", "What changed in the parking rules?"]
)
def test_what_changed_needs_versions_of_what_is_asked_about(
    pipeline: Pipeline, question: str
) -> None:
    verdict = pipeline.answer(question)
    assert verdict.action is Action.WITHHOLD


def test_a_year_of_which_no_version_is_known_is_not_left_out_of_the_question(
    pipeline: Pipeline,
) -> None:
    evidence, decision = pipeline.retrieve_and_gate("How much did a staff lunch cost in 2015?")
    assert not evidence.timeless
    assert "a figure for 2015" in decision.missing


def test_today_is_not_touched(pipeline: Pipeline) -> None:
    evidence, _ = pipeline.retrieve_and_gate("What is the deposit for a locker key?")
    assert evidence.timeless == ""
    assert evidence.wanted == evidence.question
    assert evidence.day is None or isinstance(evidence.day, date)
