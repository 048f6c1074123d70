"""The bound policy: which inequality, what it reports, what it says of estimates and clipping."""

from __future__ import annotations

from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.gate.policies.bound import LowerBound, choose
from suffice.settings import BoundSettings
from suffice.types import Evidence, GateDecision, Level, Passage, Retrieved


def evidence(*scores: float | None) -> Evidence:
    items = tuple(
        Retrieved(Passage(id=str(n), text="Leave is twenty weeks.", document=f"{n}.md"), score)
        for n, score in enumerate(scores)
    )
    return Evidence("How long is leave for contractors?", items)


def signals(decision: GateDecision) -> dict[str, float | None]:
    return {signal.name: signal.value for signal in decision.signals}


def test_the_result_carries_everything() -> None:
    decision = LowerBound().decide(evidence(0.6, 0.7, 0.8, 0.5, 0.65))
    epsilon = sqrt(log(40) / 10)
    assert signals(decision) == {
        "n": 5,
        "mean": pytest.approx(0.65),
        "epsilon": pytest.approx(epsilon),
        "delta": 0.05,
        "lower bound": pytest.approx(0.65 - epsilon),
        "unclipped bound": pytest.approx(0.65 - epsilon),
        "more passages needed": 11,  # log(40) / (2 · 0.35²) = 15.06: 16 in all
    }
    held = {signal.name: signal.threshold for signal in decision.signals}
    assert held["lower bound"] == 0.30
    assert decision.score == pytest.approx(0.65 - epsilon)
    assert decision.level is Level.INSUFFICIENT
    assert decision.missing == ("contractors",)
    assert "hoeffding, n = 5, mean 0.650, ε 0.607, δ 0.05" in decision.reasons[0]
    assert decision.reasons[1] == "11 more passages with the same mean would be needed"


def test_the_promised_number_of_passages_opens_the_gate() -> None:
    assert not LowerBound().decide(evidence(*[0.65] * 15)).open
    decision = LowerBound().decide(evidence(*[0.65] * 16))
    assert decision.level is Level.SUFFICIENT
    assert len(decision.reasons) == 1
    assert signals(decision)["more passages needed"] == 0


def test_a_mean_at_the_threshold_is_told_that_more_will_not_do() -> None:
    decision = LowerBound().decide(evidence(0.1, 0.2, 0.25))
    assert "would not help" in decision.reasons[1]
    assert signals(decision)["more passages needed"] is None


def test_a_million_is_too_many() -> None:
    decision = LowerBound().decide(evidence(0.3001, 0.3001))
    assert "even a million" in decision.reasons[1]


def test_scores_are_raw() -> None:
    """Nothing is normalised: ten poor passages stay poor, however they compare to each other."""
    decision = LowerBound(BoundSettings(threshold=0.2)).decide(evidence(*[0.1] * 9, 0.15))
    assert signals(decision)["mean"] == pytest.approx(0.105)
    assert not decision.open


def test_a_cosine_below_0_is_read_as_0_and_said() -> None:
    decision = LowerBound().decide(evidence(0.9, -0.3, -0.1))
    assert signals(decision)["mean"] == pytest.approx(0.3)
    assert any("below 0 counts as 0" in reason for reason in decision.reasons)
    noted = {signal.name: signal.note for signal in decision.signals}
    assert "2 passages" in noted["mean"]


def test_passages_of_unknown_similarity_are_left_out_and_said() -> None:
    decision = LowerBound().decide(evidence(0.8, None, 0.6))
    assert signals(decision)["n"] == 2
    assert any("1 passage without" in reason for reason in decision.reasons)


def test_a_passage_that_comes_twice_is_no_more_evidence() -> None:
    once = evidence(0.8, 0.7)
    twice = Evidence(once.question, once.items * 20)
    assert LowerBound().decide(twice) == LowerBound().decide(once)


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        (BoundSettings(), "hoeffding"),
        (BoundSettings(retrieval="independent"), "hoeffding"),
        (BoundSettings(retrieval="sequential"), "azuma"),
        (BoundSettings(retrieval="reranked"), "azuma"),
        (BoundSettings(retrieval="low-variance"), "empirical-bernstein"),
        (BoundSettings(retrieval="low-variance", variance=0.02), "bernstein"),
        (BoundSettings(retrieval="reranked", inequality="betting"), "betting"),
        (BoundSettings(inequality="bernstein"), "bernstein"),
        (BoundSettings(inequality="adaptive"), "adaptive"),
    ],
)
def test_the_inequality_follows_the_retrieval_unless_named(
    settings: BoundSettings, name: str
) -> None:
    assert choose(settings).name == name
    assert name in LowerBound(settings).decide(evidence(0.6, 0.5, 0.4)).reasons[0]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            BoundSettings(inequality="azuma", score_half_width=0),
            "c = 0.150, estimated from these scores",
        ),
        (BoundSettings(inequality="azuma", score_half_width=0.1), "c = 0.100, given"),
        (BoundSettings(inequality="azuma"), "holds for any scores in [0, 1]"),
        (BoundSettings(inequality="bernstein"), "variance 0.0100, estimated from these scores"),
        (BoundSettings(inequality="bernstein", variance=0.02), "variance 0.0200, given"),
        (BoundSettings(inequality="adaptive"), "betting was the best of 3, each at δ/3"),
    ],
)
def test_an_estimate_is_said(settings: BoundSettings, says: str) -> None:
    assert says in LowerBound(settings).decide(evidence(0.6, 0.5, 0.4)).reasons[0]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (BoundSettings(inequality="adaptive", score_half_width=0), "best of 3"),
        (BoundSettings(inequality="adaptive", score_half_width=0.5), "best of 3"),
        (BoundSettings(inequality="adaptive", score_half_width=0.2, variance=0.01), "best of 4"),
    ],
)
def test_adaptive_estimates_nothing(settings: BoundSettings, says: str) -> None:
    """An estimate would win each time, and the bound would be worth nothing."""
    decision = LowerBound(settings).decide(evidence(*[0.5] * 8))
    assert says in decision.reasons[0]
    assert "estimated" not in decision.reasons[0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.05, 0.9))
def test_it_opens_exactly_when_the_bound_reaches_the_threshold(
    scores: list[float], tau: float
) -> None:
    decision = LowerBound(BoundSettings(threshold=tau, inequality="betting")).decide(
        evidence(*scores)
    )
    assert decision.open == (decision.score >= tau)
    assert decision.open == (signals(decision)["more passages needed"] == 0)
