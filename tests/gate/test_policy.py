"""One contract for every policy."""

from __future__ import annotations

import pytest

from suffice.gate.policy import Policy, open_policy
from suffice.settings import GateSettings
from suffice.types import Evidence, Level, Passage, Retrieved


@pytest.fixture(params=["tiers", "coverage"])
def policy(request: pytest.FixtureRequest) -> Policy:
    return open_policy(GateSettings(policy=request.param))


def items(relevance: float | None) -> tuple[Retrieved, ...]:
    return tuple(
        Retrieved(Passage(id=str(n), text="Parental leave is 20 weeks.", document="a"), relevance)
        for n in range(3)
    )


def test_no_evidence_is_never_enough(policy: Policy) -> None:
    decision = policy.decide(Evidence("How long is parental leave?"))
    assert decision.level is Level.INSUFFICIENT
    assert not decision.open
    assert decision.reasons


def test_the_decision_names_its_policy_and_reason_and_is_repeatable(policy: Policy) -> None:
    evidence = Evidence("How long is parental leave?", items(0.7))
    decision = policy.decide(evidence)
    assert decision == policy.decide(evidence)
    assert decision.policy in ("tiers", "coverage")
    assert decision.reasons
    assert 0 <= decision.score <= 1


def test_odd_questions_do_not_break_it(policy: Policy) -> None:
    for question in ("?", "漢字", "a" * 8000, "\x00"):
        policy.decide(Evidence(question, items(None)))
