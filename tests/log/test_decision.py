"""Decisions converted to records read back as the same decisions."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.errors import StoreError
from suffice.evidence.search import keywords_note
from suffice.log.chain import canonical
from suffice.log.decision import Filing, decision_of, of_gate, of_verdict
from suffice.log.record import Entry, Record, payload
from suffice.log.setup import Setup, setup_of
from suffice.server.openai.completion import Disclosure, disclosed
from suffice.settings import CollectionSettings, DraftSettings, VerdictSettings
from suffice.types import (
    Action,
    Draft,
    Evidence,
    GateDecision,
    Instruction,
    Kind,
    Level,
    Passage,
    Verdict,
)
from tests.log import examples as some


def stored(record: Record, omit: tuple[str, ...] = ()) -> Entry:
    written = payload(record.fields, omit)
    text = written.text
    return Entry(1, record.id, "", "", record.kind, "", "", "", "", "", text)


def test_the_examples_leave_no_field_at_its_default() -> None:
    whole = (some.LEAVE, some.COUNTED.items[0], some.GATE, some.CLAIM, some.DRAFT, some.FINDING)
    more = (some.VERDICT, some.TRACE, some.GATE.conflicts[0], some.GATE.signals[0])
    value: Any
    for value in (*whole, *more):
        recorded = [field for field in fields(value) if field.metadata.get("recorded", True)]
        names = [field.name for field in recorded if field.name != "record"]
        at_default = {field.name for field in fields(value) if field.default != MISSING}
        plain = [name for name in names if name in at_default and not getattr(value, name)]
        # What the search read is not recorded: a replay searches and reads again.
        assert plain in ([], ["start"], ["answers", "number"])


def test_what_was_searched_for_instructions_is_searched_again_in_a_replay() -> None:
    (item,) = some.COUNTED.items
    searched = replace(some.COUNTED, items=(replace(item, instruction=Instruction()),))
    (record,) = of_gate(searched, some.GATE, some.TRACE, Filing())
    (again,) = decision_of(stored(record)).evidence
    assert again.instruction is None


def test_a_verdict_is_read_back_as_it_was() -> None:
    (record,) = of_verdict(some.VERDICT, some.TRACE, Filing("alice", "case-1"))
    found = decision_of(stored(record))
    assert found.verdict == some.VERDICT
    assert found.gate == some.GATE
    assert found.evidence == some.COUNTED
    assert found.trace == some.TRACE
    assert (record.kind, record.caller, record.tag) == ("verdict", "alice", "case-1")


def test_the_message_of_a_server_is_known_in_older_records_too() -> None:
    evidence = replace(some.COUNTED, notes=(keywords_note("db7 down"),), without_vectors="db7 down")
    verdict = replace(some.VERDICT, evidence=evidence, notes=evidence.notes)
    (record,) = of_verdict(verdict, some.TRACE, Filing())
    tree: Any = record.fields["evidence"]
    older = {
        **tree,
        "counted": {k: v for k, v in tree["counted"].items() if k != "without_vectors"},
    }
    read = decision_of(stored(replace(record, fields={**record.fields, "evidence": older}))).verdict
    assert read is not None
    assert read.evidence.without_vectors == "db7 down"
    assert not any("db7" in note for note in disclosed(read, Disclosure.ALL).notes)


def test_a_gate_alone_is_read_back_as_it_was() -> None:
    (record,) = of_gate(some.COUNTED, some.GATE, some.TRACE, Filing())
    found = decision_of(stored(record))
    assert (found.gate, found.evidence, found.trace) == (some.GATE, some.COUNTED, some.TRACE)
    assert found.verdict is None
    assert record.kind == "gate"


@settings(deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=())), st.floats())
def test_any_text_and_any_score_pass_through(text: str, score: float) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    passage = replace(some.LEAVE, text=whole, title=whole)
    verdict = replace(
        some.VERDICT,
        evidence=Evidence(
            whole, (replace(some.FOUND.items[0], passage=passage, score=score + 0.0),)
        ),
        question=whole,
        draft=Draft(whole),
        attempts=(),
        released=whole,
    )
    (record,) = of_verdict(verdict, None, Filing())
    found = decision_of(stored(record)).verdict
    assert found is not None
    (item,) = found.evidence.items
    assert repr(item.score) == repr(score + 0.0)  # also where it is no number, which equals nothing
    items = (replace(item, score=0.0),)
    plain = replace(verdict.evidence, items=(replace(verdict.evidence.items[0], score=0.0),))
    assert replace(found, evidence=replace(found.evidence, items=items)) == replace(
        verdict, evidence=plain
    )


def test_a_passage_stands_once_however_often_it_occurs() -> None:
    (record,) = of_verdict(some.VERDICT, some.TRACE, Filing())
    text = canonical(dict(record.fields))
    assert text.count("Parental leave lasts 18 weeks.") == 1
    assert text.count("Leave lasts 18 weeks [1].") == 3  # claim, draft and what was released
    passages: Any = record.fields["passages"]
    assert passages[0] == {
        "access": ["all", "staff"],
        **{name: passages[0][name] for name in passages[0] if name != "access"},
    }
    assert not {"text", "summary"} & set(passages[0])


def test_a_gap_is_a_record_of_its_own_with_what_is_nearest() -> None:
    gap = replace(some.GAP, nearest=some.VERDICT.nearest, missing=("no king",))
    verdict, found = of_verdict(gap, None, Filing("alice"))
    assert found.kind == "gap"
    assert found.caller == "alice"
    assert found.fields == {
        "record": verdict.id,
        "question": "Who is king?",
        "missing": ["no king"],
        "nearest": [
            {"document": "leave.md", "title": "Leave", "version": "2", "heading": ["Leave"],
             "relevance": 0.7, "carried": True}
        ],
        "reason": "Nothing.",
        "setup": "",
    }  # fmt: skip


def test_a_shut_gate_tells_of_a_gap_too() -> None:
    shut = replace(some.GATE, level=Level.INSUFFICIENT)
    assert [one.kind for one in of_gate(some.COUNTED, shut, None, Filing())] == ["gate", "gap"]


def test_what_is_not_stored_cannot_be_read_back_and_is_named() -> None:
    (record,) = of_verdict(some.VERDICT, some.TRACE, Filing())
    with pytest.raises(StoreError, match="Fields not stored: texts"):
        decision_of(stored(record, omit=("texts",)))
    assert decision_of(stored(record, omit=("timings",))).verdict is not None
    with pytest.raises(StoreError, match="no decision"):
        decision_of(stored(some.note()))


def test_thresholds_name_their_certificate() -> None:
    (record,) = of_verdict(some.VERDICT, None, Filing(certificate="cert-7"))
    assert record.fields["thresholds"] == {"certificate": "cert-7", "signals": {"enough": 0.5}}


def test_a_setup_is_named_by_what_it_says_and_read_back() -> None:
    draft = DraftSettings(llm="https://user:secret@host/v1", max_blocks=5)
    chosen = CollectionSettings(
        draft=draft, verdict=VerdictSettings(gap_webhook="https://hooks.example/secret")
    )
    setup = Setup(chosen, models={"verifier": "v-1"}, options={"tier": "fast"})
    record = setup.record()
    assert record.id == setup.record().id != Setup().record().id
    assert "secret" not in canonical(dict(record.fields))
    found, packages = setup_of(stored(record))
    assert found.settings.draft == replace(draft, llm="https://host/v1")
    assert found.settings.verdict.gap_webhook == "https://hooks.example"
    assert found.models == {"verifier": "v-1"}
    assert packages["suffice"]


def test_defaults_that_old_records_lean_on_do_not_change() -> None:
    """Fields at their default are not written, so a changed default would falsify old records."""
    assert Passage("i", "t", "d") == Passage(
        "i", "t", "d", "", "", Kind.FACT, (), 0, 0, None, "", None, None, None, None, "default",
        frozenset(), "", None, "",
    )  # fmt: skip
    assert Draft("t") == Draft("t", (), (), "", False, (), 0)
    gate = GateDecision(Level.REVIEW, 0.0, "p")
    assert gate == GateDecision(Level.REVIEW, 0.0, "p", (), (), (), None, (), (), (), ())
    assert Verdict("q", Action.SERVE, "r", gate, Evidence("q")) == Verdict(
        "q", Action.SERVE, "r", gate, Evidence("q", (), (), None, False), None, "", (), (), (), (),
        0.0, (), None, None, None, "", None, (),
    )  # fmt: skip
