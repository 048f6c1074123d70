"""The gate switched off."""

from __future__ import annotations

from suffice.gate.gate import Gate
from suffice.gate.policies.policy import OFF
from suffice.types import Evidence, Level, Passage, Retrieved

QUESTION = "How long is parental leave?"


def test_whatever_was_found_may_be_drafted_from() -> None:
    far = Evidence(QUESTION, (Retrieved(Passage("1", "The canteen opens at noon.", "a.md"), 0.0),))
    gate = Gate("none")
    evidence, decision = gate.apply(far)
    assert decision.level is Level.SUFFICIENT
    assert decision.policy == "none"
    assert decision.reasons == (OFF,)
    assert gate.may_draft(evidence, decision)


def test_without_a_passage_it_stays_shut() -> None:
    decision = Gate("none").decide(Evidence(QUESTION))
    assert decision.level is Level.INSUFFICIENT
    assert decision.reasons == ("no passage was found",)


def test_contradictions_are_still_shown() -> None:
    weeks = ("Parental leave is 16 weeks.", "Parental leave is 18 weeks.")
    decision = Gate("none").decide(QUESTION, weeks)
    assert decision.level is Level.CONFLICT
