"""The gate on two handbooks: no conflict where there is none, and those that were planted."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from suffice import Library
from suffice.engine import Engine
from suffice.gate.gate import GateResult
from suffice.pipeline import Pipeline
from suffice.types import Action, Level

HERE = Path(__file__).parent
DOCUMENTS = {
    "handbook": HERE.parents[1] / "src" / "suffice" / "handbook",
    "clinic": HERE / "clinic",
}
TRIALS: dict[str, dict[str, list[str]]] = json.loads((HERE / "trials.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Pipeline]:
    found = {}
    for name, folder in DOCUMENTS.items():
        library = Library.open(tmp_path_factory.mktemp(name) / "store.db", create=True)
        library.add(folder)
        found[name] = Engine(library=library).pipeline()
    return found


@pytest.fixture(scope="module")
def ask(pipelines: dict[str, Pipeline]):  # type: ignore[no-untyped-def]
    @cache
    def asked(name: str, question: str) -> GateResult:
        return pipelines[name].retrieve_and_gate(question)

    return asked


def trials(kind: str, step: int = 1) -> list[tuple[str, str]]:
    return [(name, question) for name in TRIALS for question in TRIALS[name][kind][::step]]


def test_plain_questions_meet_no_conflict(ask) -> None:  # type: ignore[no-untyped-def]
    wrong = [q for name, q in trials("plain", 4) if ask(name, q).decision.level is Level.CONFLICT]
    assert wrong == []


def test_planted_contradictions_are_found(ask) -> None:  # type: ignore[no-untyped-def]
    planted = trials("conflicts")
    seen = [q for name, q in planted if ask(name, q).decision.level is Level.CONFLICT]
    assert len(seen) >= 0.8 * len(planted)


def test_near_misses_never_leave_without_a_caveat(pipelines: dict[str, Pipeline]) -> None:
    verdicts = [pipelines[name].answer(question) for name, question in trials("near", 3)]
    assert all(verdict.action is not Action.SERVE for verdict in verdicts)
    assert sum(verdict.served for verdict in verdicts) <= 0.3 * len(verdicts)


def test_plain_questions_open(ask) -> None:  # type: ignore[no-untyped-def]
    plain = trials("plain", 4)
    opened = [q for name, q in plain if ask(name, q).decision.open]
    assert len(opened) >= 0.85 * len(plain)
