"""One contract for every policy the settings can name."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.gate.policies.policy import Policy, open_policy
from suffice.models.catalog import open_verifier
from suffice.settings import GateSettings, VerifierSettings
from suffice.types import Evidence, Level, Passage, Retrieved

NAMES = get_args(get_type_hints(GateSettings)["policy"])
QUESTION = "How long is parental leave?"
every_policy = pytest.mark.parametrize("name", NAMES)
every_judge = pytest.mark.parametrize("name", [name for name in NAMES if name != "none"])


def opened(name: str) -> Policy:
    verifier = open_verifier(VerifierSettings())
    return open_policy(GateSettings(policy=name), verifier)  # type: ignore[arg-type]


def item(
    number: int, relevance: float | None, text: str = "Parental leave is 20 weeks."
) -> Retrieved:
    return Retrieved(Passage(id=str(number), text=text, document=f"{number}.md"), relevance)


def evidence(*relevances: float | None) -> Evidence:
    return Evidence(QUESTION, tuple(item(n, value) for n, value in enumerate(relevances)))


relevance = st.none() | st.floats(-1, 1) | st.just(float("nan"))
many = st.lists(relevance, min_size=1, max_size=50)


@every_policy
def test_no_evidence_is_never_enough(name: str) -> None:
    decision = opened(name).decide(Evidence(QUESTION))
    assert decision.level is Level.INSUFFICIENT
    assert not decision.open
    assert decision.score == 0
    assert decision.reasons == ("no passage was found",)


@every_policy
@settings(deadline=None, max_examples=15)  # some ask a model
@given(many)
def test_any_evidence_gets_a_decision_that_can_be_repeated(
    name: str, relevances: list[float | None]
) -> None:
    found = evidence(*relevances)
    decision = opened(name).decide(found)
    assert decision == opened(name).decide(found)
    assert decision.policy == name
    assert 0 <= decision.score <= 1
    assert decision.reasons
    assert decision.signals
    assert decision.level is not Level.CONFLICT


@every_policy
@settings(deadline=None, max_examples=15)  # some ask a model
@given(many, st.integers(0, 49))
def test_an_irrelevant_duplicate_does_no_harm(
    name: str, relevances: list[float | None], which: int
) -> None:
    """The same passage again, of no use: it does not break the gate, and does not open it."""
    found = evidence(*relevances)
    again = item(which % len(relevances), 0.0)
    more = opened(name).decide(Evidence(QUESTION, (*found.items, again)))
    assert opened(name).decide(found).open or not more.open


@every_judge
def test_an_unknown_similarity_is_said(name: str) -> None:
    for count in (1, 3):
        decision = opened(name).decide(evidence(*[None] * count))
        assert any("no similarity is known" in reason for reason in decision.reasons)


@every_judge
def test_plenty_of_near_passages_open_it_and_far_ones_do_not(name: str) -> None:
    text = "Parental leave is 20 weeks long. " * 3
    near = Evidence(QUESTION, tuple(item(n, 0.9, text) for n in range(20)))
    far = Evidence(QUESTION, tuple(item(n, 0.05, "Bicycles.") for n in range(20)))
    assert opened(name).decide(near).open
    assert not opened(name).decide(far).open


@every_policy
def test_odd_questions_do_not_break_it(name: str) -> None:
    for question in ("?", "漢字", "a" * 8000, "\x00"):
        for value in (None, 0.7):
            opened(name).decide(Evidence(question, evidence(value, value).items))
