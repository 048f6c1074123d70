"""The published tiers, at and around each threshold."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.gate.policies.tiers import Tiers
from suffice.settings import TiersSettings
from suffice.types import Evidence, Level, Passage, Retrieved


def evidence(*scores: float | None, text: str = "Leave is twenty weeks.") -> Evidence:
    items = tuple(
        Retrieved(Passage(id=str(n), text=text, document=f"{n}.md"), score)
        for n, score in enumerate(scores)
    )
    return Evidence("How long is parental leave?", items)


@pytest.mark.parametrize(
    ("scores", "tier"),
    [
        ((0.40,), "one strong passage"),
        ((0.399,), None),
        ((0.35, 0.30), "two relevant passages"),
        ((0.35, 0.299), None),
        ((0.349, 0.30), None),
        ((0.31, 0.30, 0.30), "three relevant passages"),
        ((0.30, 0.30, 0.30), "three relevant passages"),
        ((0.31, 0.30, 0.29), None),
        # The mean is that of all passages: three relevant ones among many others are too few.
        ((0.34, 0.34, 0.34, 0.20), "three relevant passages"),
        ((0.34, 0.34, 0.34, 0.17), None),
        ((0.34, 0.34, 0.34, 0.29, 0.29), "three relevant passages"),
        ((0.34, 0.34, 0.34, 0.1, 0.1), None),
        ((), None),
    ],
)
def test_each_tier(scores: tuple[float, ...], tier: str | None) -> None:
    decision = Tiers().decide(evidence(*scores))
    assert decision.tier == tier
    assert decision.level is (Level.SUFFICIENT if tier else Level.INSUFFICIENT)
    assert decision.open == (tier is not None)


def test_the_thresholds_are_settings() -> None:
    strict = Tiers(
        TiersSettings(relevant=0.5, one_passage=0.9, two_passages=0.8, three_passages=0.6)
    )
    assert not strict.decide(evidence(0.79, 0.7, 0.4)).open
    assert strict.decide(evidence(0.8, 0.7)).tier == "two relevant passages"


def test_a_refusal_names_what_is_missing() -> None:
    decision = Tiers().decide(replace(evidence(0.2), question="How long is leave of contractors?"))
    assert decision.missing == ("contractors",)
    assert "0.20" in decision.reasons[0]


def test_the_signals_hold_the_numbers() -> None:
    decision = Tiers().decide(evidence(0.39, 0.31, 0.1))
    held = [(signal.name, signal.value, signal.threshold) for signal in decision.signals]
    assert held == [
        ("best similarity", 0.39, 0.40),
        ("relevant passages", 2, None),
        ("mean similarity", pytest.approx(0.8 / 3), 0.30),
    ]


def test_one_passage_twice_is_not_two() -> None:
    once = evidence(0.36)
    assert not Tiers().decide(Evidence(once.question, once.items * 2)).open


def test_without_similarity_it_says_so() -> None:
    decision = Tiers().decide(evidence(None))
    assert not decision.open
    assert "coverage" in decision.reasons[0]


@given(st.lists(st.floats(-1, 1), max_size=8), st.floats(-1, 1))
def test_one_more_relevant_passage_never_shuts_the_gate(scores: list[float], more: float) -> None:
    if Tiers().decide(evidence(*scores)).open and more >= 0.30:
        assert Tiers().decide(evidence(*scores, more)).open
