"""The next steps after a refusal."""

from __future__ import annotations

from datetime import date

from suffice.gate.gate import Explain
from suffice.gate.missing import next_steps
from suffice.types import Evidence, Exclusion, GateDecision, Level, Passage, Retrieved

NEAR = Passage(id="1", text="Leave is 20 weeks.", document="leave.md", title="Parental leave")
OLD = Passage(id="2", text="x", document="b.md", version="1.0", effective=date(2023, 1, 1))
EVIDENCE = Evidence("How long is parental leave for contractors?", (Retrieved(NEAR, 0.5),))
SHUT = GateDecision(Level.INSUFFICIENT, 0.2, "tiers", ("best similarity 0.20",))


def test_rephrase_look_and_ask() -> None:
    decision = GateDecision(Level.INSUFFICIENT, 0.2, "tiers", missing=("contractors", "the date"))
    assert next_steps(decision, EVIDENCE, "the People team") == (
        "Try other words for “contractors”; the documents may use a different term.",
        "Check Parental leave (leave.md), the nearest document.",
        "Ask the People team.",
    )


def test_without_a_contact_the_nearest_document_names_its_owner() -> None:
    assert next_steps(SHUT, EVIDENCE)[-1] == "Ask the owner of Parental leave."
    assert next_steps(SHUT, Evidence("Why is the sky blue at noon?")) == ("Rephrase the question.",)


def test_a_short_question_is_asked_for_more() -> None:
    assert any(step.startswith("Add context") for step in next_steps(SHUT, Evidence("Leave?")))
    assert not any(step.startswith("Add context") for step in next_steps(SHUT, EVIDENCE))


def test_an_explanation_names_what_was_left_out_and_leaves_the_decision() -> None:
    said = Explain(contact="Ines")(SHUT, EVIDENCE, [Exclusion(OLD, "expired on 2023-12-31")])
    assert (said.level, said.score, said.policy) == (SHUT.level, SHUT.score, SHUT.policy)
    assert said.missing == ("contractors",)
    assert said.reasons == (
        "best similarity 0.20",
        "left out b.md, version 1.0: expired on 2023-12-31",
    )
    assert [one.passage for one in said.excluded] == [OLD]
    assert "To ask about b.md, version 1.0, add a date, for example “in 2024”." in said.next_steps
    assert said.next_steps[-1] == "Ask Ines."


def test_a_copy_is_recorded_but_not_named_to_the_reader() -> None:
    copy = Exclusion(OLD, "a near copy of leave.md")
    said = Explain()(SHUT, EVIDENCE, copies=[copy])
    assert said.excluded == (copy,)
    assert said.reasons == SHUT.reasons
    assert not any("add a date" in step for step in said.next_steps)
