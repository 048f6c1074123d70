"""The confidence separates SERVE, CAVEAT, REVIEW and WITHHOLD."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.types import (
    Action,
    Citation,
    Claim,
    Draft,
    Evidence,
    Finding,
    GateDecision,
    Level,
    Passage,
    Retrieved,
    Support,
    Verdict,
)
from suffice.verdict.confidence import answers, confidence
from suffice.verdict.decide import decide

ONE, TWO = "You get 30 days of leave.", "It is paid in full."
HERE = Passage("a", f"{ONE} {TWO}", "a")
EVIDENCE = Evidence("How long is leave?", (Retrieved(HERE, 0.9),))
OPEN = GateDecision(Level.SUFFICIENT, 0.97, "learned")
OPEN_FULLY = replace(OPEN, score=1.0)
CLAIM, OTHER = Claim(ONE, 0, len(ONE), (1,)), Claim(TWO, len(ONE) + 1, len(HERE.text), (1,))
DRAFT = Draft(HERE.text, (CLAIM, OTHER), (Citation(1, HERE, ONE),))
CHANCES = st.floats(0, 1)


def said(claim: Claim, chance: float, check: str = "entailment") -> Finding:
    support = Support.BACKED if chance >= 0.5 else Support.UNBACKED
    return Finding(claim, check, support, chance, HERE.id)


def decided(*chances: float, gate: float = 1.0) -> Verdict:
    """The verdict on as many claims as there are chances."""
    claims = (CLAIM, OTHER)[: len(chances)]
    draft = replace(DRAFT, text=DRAFT.text[: claims[-1].end], claims=claims)
    found = [said(claim, chance) for claim, chance in zip(claims, chances, strict=True)]
    return decide(EVIDENCE, replace(OPEN, score=gate), draft, found)


BOTH = 0.7101
"""What .8 and .6 are together: the mean of their log-odds."""


def test_what_was_written_freely_is_as_sure_as_the_gate_and_its_weakest_claims() -> None:
    found = confidence(OPEN, DRAFT, [said(CLAIM, 0.8), said(OTHER, 0.6)])
    assert found == pytest.approx(0.97 * BOTH, abs=1e-4)


def test_without_a_gate_that_gives_a_probability_the_weakest_claims_are_all() -> None:
    found = confidence(replace(OPEN, policy="tiers"), DRAFT, [said(CLAIM, 0.8), said(OTHER, 0.6)])
    assert found == pytest.approx(BOTH, abs=1e-4)


def test_a_quotation_is_supported_whatever_a_model_says_of_it() -> None:
    quoted = [said(claim, 1.0, "verbatim") for claim in DRAFT.claims]
    assert confidence(OPEN, DRAFT, [*quoted, said(CLAIM, 0.2)]) == pytest.approx(0.97, abs=0.01)


def test_what_nobody_judged_has_no_probability() -> None:
    unread = Finding(CLAIM, "entailment", Support.UNCHECKED)
    assert confidence(OPEN, DRAFT, [unread]) is None
    assert confidence(OPEN, Draft(""), []) is None


def test_a_person_who_opens_the_gate_has_answered_for_it() -> None:
    shut = GateDecision(Level.INSUFFICIENT, 0.1, "learned")
    assert answers(shut, replace(DRAFT, answers=0.1)) == 1.0


@given(CHANCES, CHANCES, CHANCES, CHANCES)
def test_better_evidence_and_a_better_quotation_never_make_it_less_sure(
    gate: float, more: float, quoted: float, better: float
) -> None:
    low, high = sorted((gate, more))
    worse, best = sorted((quoted, better))
    less = answers(replace(OPEN, score=low), replace(DRAFT, answers=worse))
    sure = answers(replace(OPEN, score=high), replace(DRAFT, answers=best))
    assert 0 <= less <= sure <= 1


@pytest.mark.parametrize(
    ("chance", "action"),
    [(0.95, Action.SERVE), (0.7, Action.CAVEAT), (0.2, Action.WITHHOLD)],
)
def test_the_number_decides(chance: float, action: Action) -> None:
    verdict = decided(chance)
    assert verdict.action is action
    assert verdict.confidence == pytest.approx(chance)


def test_near_even_odds_a_person_decides() -> None:
    verdict = decided(0.52, gate=0.75)
    assert verdict.action is Action.REVIEW
    said = "The estimated probability that the answer is correct is 0.49; a person must review it."
    assert verdict.reason == said


def test_a_person_decides_on_quotations_that_may_not_answer() -> None:
    quoted = [said(claim, 1.0, "verbatim") for claim in DRAFT.claims]
    gate = replace(OPEN, policy="tiers")
    for chance, action in ((0.55, Action.REVIEW), (0.65, Action.CAVEAT)):
        assert decide(EVIDENCE, gate, replace(DRAFT, answers=chance), quoted).action is action
    assert decided(0.55).action is Action.CAVEAT


def test_the_answer_as_a_whole_counts_as_much_as_one_of_the_weakest_claims() -> None:
    claims = [said(CLAIM, 0.8), said(OTHER, 0.6)]
    gate = replace(OPEN, policy="tiers")
    for whole, expected in ((BOTH, BOTH), (0.2, 0.534), (0.99, 0.831)):
        found = [*claims, *(said(claim, whole, "whole") for claim in DRAFT.claims)]
        assert confidence(gate, DRAFT, found) == pytest.approx(expected, abs=1e-3)


def test_a_long_answer_as_a_whole_only_lowers_the_confidence() -> None:
    claims = tuple(Claim(str(n), n, n + 1) for n in range(3))
    draft = Draft("012", claims)
    gate = replace(OPEN, policy="tiers")
    own = [said(claim, 0.8) for claim in claims]
    for whole, expected in ((0.99, 0.8), (0.8, 0.8), (0.2, 0.614)):
        found = [*own, *(said(claim, whole, "whole") for claim in claims)]
        assert confidence(gate, draft, found) == pytest.approx(expected, abs=1e-3)


def test_only_the_two_weakest_claims_count() -> None:
    claims = tuple(Claim(str(n), n, n + 1) for n in range(4))
    found = [
        said(claim, chance) for claim, chance in zip(claims, (0.6, 0.9, 0.6, 0.9), strict=True)
    ]
    assert confidence(OPEN_FULLY, Draft("0123", claims), found) == pytest.approx(0.6)


def test_a_caveat_that_rests_on_the_number_alone_tells_it() -> None:
    assert decided(0.7).reason == "The estimated probability that the answer is correct is 0.70."


def test_one_weak_claim_holds_the_answer_back_or_is_named() -> None:
    assert decided(0.9, 0.05).action is Action.WITHHOLD
    doubted = decided(0.95, 0.45)
    assert doubted.action is Action.CAVEAT
    assert TWO.rstrip(".") in doubted.reason


def test_backed_claims_that_do_not_answer_are_withheld_and_it_says_so() -> None:
    quoted = [said(claim, 1.0, "verbatim") for claim in DRAFT.claims]
    verdict = decide(EVIDENCE, OPEN, replace(DRAFT, answers=0.01), quoted)
    assert verdict.action is Action.WITHHOLD
    assert "may not answer this question" in verdict.reason


def test_a_quotation_does_not_outweigh_a_made_up_sentence() -> None:
    quoted = said(CLAIM, 1.0, "verbatim")
    found = confidence(replace(OPEN, policy="tiers"), DRAFT, [quoted, said(OTHER, 0.1)])
    assert found is not None
    assert found < 0.5


def test_an_answer_of_another_sort_than_asked_for_has_a_caveat() -> None:
    said_well = [said(claim, 0.95) for claim in DRAFT.claims]
    assert decide(EVIDENCE, OPEN_FULLY, DRAFT, said_well).action is Action.SERVE
    asked = replace(EVIDENCE, question="What is the cost of it?")
    verdict = decide(asked, OPEN_FULLY, DRAFT, said_well)
    assert verdict.action is Action.CAVEAT
    assert verdict.reason == "The answer does not give what the question asks for: amount."


@pytest.mark.parametrize(("gate", "answered"), [(0.25, 0.94), (0.94, 0.94), (0.97, 0.97)])
def test_a_text_whose_drafter_did_not_decline_answers_at_least_probably(
    gate: float, answered: float
) -> None:
    decision = replace(OPEN, level=Level.PARTIAL, score=gate)
    assert answers(decision, DRAFT) == answered
    assert answers(decision, replace(DRAFT, drafter="extractive")) == gate
    drawn = decide(EVIDENCE, decision, DRAFT, [said(CLAIM, 0.95), said(OTHER, 0.95)])
    assert drawn.action is Action.CAVEAT  # the gate doubts it
