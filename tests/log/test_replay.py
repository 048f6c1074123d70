"""A recorded decision can be replayed, and differences are reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from suffice import Library, Pipeline
from suffice.answers import open_checker
from suffice.engine import Engine
from suffice.errors import StoreError
from suffice.log.decision import Filing
from suffice.log.log import Log, Recorder
from suffice.log.replay import Replayed, differences, replay
from suffice.log.setup import Setup
from suffice.models.catalog import open_verifier
from suffice.settings import CollectionSettings, DraftSettings, GateSettings, VerifierSettings
from suffice.testing import Reply, ScriptedUpstream, says
from suffice.types import Verdict

QUESTION = "How many days per week may I work remotely?"
VERIFIER = open_verifier(VerifierSettings())


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    opened = Log.open(tmp_path / "s.db", create=True)
    yield opened
    opened.close()
    opened.database.close()


def setup_for(library: Library, settings: CollectionSettings | None = None, **other: str) -> Setup:
    models = {"embedder": library.embedder.id, "verifier": VERIFIER.id}
    return Setup(settings or CollectionSettings(), models=models, **other)  # type: ignore[arg-type]


def pipeline(library: Library, log: Log, settings: CollectionSettings | None = None) -> Pipeline:
    made = Engine(library=library, verifier=VERIFIER).pipeline(settings=settings)
    filing = Filing("alice", setup=setup_for(library, settings).record())
    return replace(made, record=Recorder(log, filing))


def again(log: Log, id: str) -> Replayed:
    entry = log.entry(id)
    return replay(entry, log.entry(entry.fields()["setup"]))


@pytest.mark.parametrize("question", [QUESTION, "How long is parental leave?", "Who is king?"])
def test_the_same_decision_is_made_again(library: Library, log: Log, question: str) -> None:
    answering = pipeline(library, log)
    verdict = answering.answer(question)
    assert verdict.record
    replayed = again(log, verdict.record)
    assert (replayed.id, replayed.differences) == (verdict.record, ())
    decision = answering.retrieve_and_gate(question).decision
    assert again(log, decision.record).same


@pytest.mark.parametrize("policy", ["coverage", "bound", "tiers"])
def test_with_the_settings_of_then(library: Library, log: Log, policy: str) -> None:
    settings = CollectionSettings(gate=GateSettings(policy=policy))  # type: ignore[arg-type]
    verdict = pipeline(library, log, settings).answer(QUESTION)
    assert verdict.gate.policy == policy
    assert again(log, verdict.record).same


@pytest.mark.parametrize(
    "reply",
    [
        says("Eligible employees may work remotely up to 3 days per week. [1]"),
        says("Eligible employees may work remotely up to 5 days per week. [1]"),
        says("Up to 3 days per week may be worked remotely [1]. Penguins are birds [1]."),
    ],
    ids=["right", "wrong", "trimmed"],
)
def test_what_an_llm_wrote_is_checked_again(library: Library, log: Log, reply: Reply) -> None:
    with ScriptedUpstream([reply] * 3) as upstream:
        draft = DraftSettings(llm=upstream.url, model="any", revisions=1, retries=0, timeout=120)
        settings = CollectionSettings(draft=draft)
        verdict = pipeline(library, log, settings).answer(QUESTION)
    assert again(log, verdict.record).same


def test_what_was_said_before_counts_again(library: Library, log: Log) -> None:
    answering = pipeline(library, log)
    first = answering.answer(QUESTION)
    verdict = answering.answer("How long is parental leave?", [first])
    assert again(log, verdict.record).same


def test_anyones_answer_is_checked_again(library: Library, log: Log) -> None:
    setup = setup_for(library, door="answers")
    checker = replace(
        open_checker(verifier=VERIFIER, embedder=library.embedder),
        record=Recorder(log, Filing(setup=setup.record())),
    )
    verdicts: list[Verdict] = [
        checker.check("Leave lasts 20 weeks [1].", ["Leave lasts 18 weeks."], "How long?"),
        checker.check("Leave lasts 18 weeks [1].", ["Leave lasts 18 weeks."]),
        checker.check("I cannot say.", ["Leave lasts 18 weeks."]),
        checker.check("", ["Leave lasts 18 weeks."]),
    ]
    assert all(again(log, verdict.record).same for verdict in verdicts)
    assert [entry.kind for entry in log.entries()] == ["setup", *["verdict"] * 4]


def test_what_differs_is_named(library: Library, log: Log) -> None:
    verdict = pipeline(library, log).answer(QUESTION)
    with log.database.writing() as connection:
        for was, now in (("3 days", "4 days"), ('"score":0.', '"score":0.1')):
            changed = "UPDATE records SET payload = replace(payload, :was, :now) WHERE id = :id"
            connection.execute(text(changed), {"was": was, "now": now, "id": verdict.record})
    found = again(log, verdict.record)
    assert "gate.score" in {one.field for one in found.differences}
    assert any(one.field.startswith("findings[") for one in found.differences)
    assert not log.verify().whole


def test_another_model_is_told(library: Library, log: Log) -> None:
    setup = Setup(models={"embedder": library.embedder.id, "verifier": "another-1"})
    made = Engine(library=library, verifier=VERIFIER).pipeline()
    filing = Filing(setup=setup.record())
    verdict = replace(made, record=Recorder(log, filing)).answer(QUESTION)
    found = again(log, verdict.record)
    assert [(one.field, one.was) for one in found.differences] == [("models.verifier", "another-1")]


def test_what_is_no_longer_there_cannot_be_made_again(library: Library, log: Log) -> None:
    verdict = pipeline(library, log).answer(QUESTION)
    log.eraser.subject("alice")
    entry = log.entry(verdict.record)
    with pytest.raises(StoreError, match="is incomplete"):
        replay(entry, log.page()[-1])


def test_a_decision_that_cannot_be_kept_does_not_leave(library: Library, log: Log) -> None:
    answering = pipeline(library, log)
    with log.database.writing() as connection:
        connection.execute(text("ALTER TABLE record_head RENAME TO elsewhere"))
    for ask in (answering.answer, answering.retrieve_and_gate):
        with pytest.raises(StoreError, match="not released"):
            ask(QUESTION)
    with log.database.writing() as connection:
        connection.execute(text("ALTER TABLE elsewhere RENAME TO record_head"))
    assert answering.answer(QUESTION).record


def test_trees_are_compared_leaf_by_leaf() -> None:
    was = {"a": [1.0, {"b": "x"}], "c": [1], "d": float("nan")}
    now = {"a": [1.0 + 1e-9, {"b": "y"}], "c": [1, 2], "d": float("nan"), "e": 1}
    found = [(one.field, one.was, one.now) for one in differences("", was, now)]
    assert found == [(".a[1].b", "x", "y"), (".c", [1], [1, 2]), (".e", None, 1)]
