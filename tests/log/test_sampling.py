"""Which decisions are queued for review, and with what probability."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from suffice.log.decision import Filing, of_gate, of_verdict
from suffice.log.log import Draw, Sampler, Why, borderline, queued
from suffice.settings import RecordSettings
from suffice.types import Action, Attempt, Code, Draft, Level, Signal, Support
from tests.log import examples as some

FAR = replace(some.GATE, signals=(Signal("enough", 0.62, 0.3),))
SERVED = replace(some.VERDICT, gate=FAR)


def test_what_is_left_to_a_person_is_always_there() -> None:
    sampler = Sampler(0.5, 0.0, chance=lambda: 0.99)
    left = replace(SERVED, action=Action.REVIEW)
    assert sampler.verdict(left) == Draw((Why.REVIEW,), 1.0, served=False)
    assert sampler.gate(replace(FAR, level=Level.REVIEW)) == Draw((Why.REVIEW,), 1.0, served=False)
    assert sampler.gate(FAR) == Draw((), 0.0, served=False)


def test_an_invented_source_is_always_there_whatever_was_served() -> None:
    finding = replace(some.VERDICT.findings[0], code=Code.FABRICATED, support=Support.UNBACKED)
    attempt = Attempt(Draft("Leave lasts 18 weeks [9]."), (finding,))
    served = replace(SERVED, attempts=(attempt, *SERVED.attempts))
    sampler = Sampler(0.0, 0.0)
    assert sampler.verdict(served) == Draw((Why.FABRICATED,), 1.0, served=True)
    left = replace(served, action=Action.REVIEW)
    assert sampler.verdict(left).why == (Why.REVIEW, Why.FABRICATED)


@pytest.mark.parametrize(
    ("score", "near"), [(0.5, True), (0.52, True), (0.48, True), (0.53, False), (0.4, False)]
)
def test_what_lies_near_its_threshold_is_always_there(score: float, near: bool) -> None:
    gate = replace(some.GATE, score=score, signals=(Signal("enough", score, 0.5),))
    assert borderline(gate, 0.02) is near
    draw = Sampler(0.0, 0.02).verdict(replace(SERVED, gate=gate))
    assert draw == (Draw((Why.BORDERLINE,), 1.0, True) if near else Draw((), 0.0, True))
    assert not borderline(gate, 0.0)


def test_only_what_the_gate_went_by_is_near() -> None:
    other = (
        Signal("probability", 0.62, 0.3),
        Signal("passages", 1.0, 1.0),
        Signal("mean", None, 1),
    )
    assert not borderline(replace(some.GATE, signals=other), 0.02)


def test_chance_chooses_among_what_was_served() -> None:
    for chance, why in ((0.099, (Why.SAMPLED,)), (0.1, ())):
        draw = Sampler(0.1, 0.0, chance=partial(float, chance)).verdict(SERVED)
        assert draw == Draw(why, 0.1, served=True)
    assert Sampler(1.0, 0.0).verdict(SERVED).why == (Why.SAMPLED,)
    assert Sampler(0.0, 0.0, chance=lambda: 0.0).verdict(SERVED).why == ()
    withheld = replace(SERVED, action=Action.WITHHOLD)
    assert Sampler(1.0, 0.0).verdict(withheld) == Draw((), 0.0, served=False)


def test_the_rate_is_that_of_the_settings() -> None:
    sampler = Sampler.of(RecordSettings(review_sample=0.25, review_borderline=0.0))
    drawn = sum(bool(sampler.verdict(SERVED).why) for _ in range(4_000))
    assert 800 < drawn < 1_200


def test_outcome_and_probability_are_recorded_either_way() -> None:
    records = of_verdict(SERVED, None, Filing("alice", "case-1"))
    (alone,) = queued(records, Draw((), 0.1, served=True))
    assert alone.fields["sampling"] == {"probability": 0.1, "drawn": False}
    first, place = queued(records, Draw((Why.SAMPLED,), 0.1, served=True))
    assert first.fields["sampling"] == {"probability": 0.1, "drawn": True}
    assert (place.id, place.kind, place.caller) == (f"{first.id}.queue", "queue", "alice")
    assert place.fields["why"] == ["sampled"]
    assert place.fields["probability"] == 0.1
    gate = of_gate(some.COUNTED, FAR, None, Filing())
    assert queued(gate, Draw((), 0.0, served=False)) == gate
