"""The learned gate's levels around its thresholds, whatever words seem to be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from suffice.gate.policies.learned import Learned, blend_for, features_of
from suffice.models.verifier import Pair, SufficiencyScore, SupportScore, Thresholds
from suffice.settings import LearnedSettings
from suffice.types import Evidence, Level, Passage, Retrieved

ITEMS = (Retrieved(Passage("1", "Parental leave is 20 weeks.", "1.md"), 0.7),)
EVIDENCE = Evidence("How long is parental leave?", ITEMS)


@dataclass(frozen=True)
class FixedScore:
    """A verifier that says what it is told."""

    score: SufficiencyScore
    id: str = "told"
    tier: str = "fast"
    thresholds: Thresholds = field(default_factory=Thresholds)

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        raise AssertionError("questions are not claims")

    def sufficiency(self, pairs: Sequence[Pair]) -> list[SufficiencyScore]:
        return [self.score]


def chance(enough: float) -> float:
    features = features_of(EVIDENCE, enough)
    return blend_for("fast", features).probability(features)


@pytest.mark.parametrize(
    ("threshold", "sufficient", "level"),
    [
        (-0.2, -0.1, Level.SUFFICIENT),
        (-0.1, 0.1, Level.PARTIAL),
        (0.1, 0.2, Level.INSUFFICIENT),
        (0.005, 0.2, Level.REVIEW),
        (-0.005, 0.2, Level.REVIEW),
    ],
)
@pytest.mark.parametrize("missing", [(), ("nuns",)])
def test_the_probability_decides(
    threshold: float, sufficient: float, level: Level, missing: tuple[str, ...]
) -> None:
    score = chance(0.5)
    settings = LearnedSettings(score + threshold, score + sufficient, review_band=0.02)
    verifier = FixedScore(SufficiencyScore(0.5, 0, tier="fast"))
    decision = Learned(verifier, settings, lambda _: missing).decide(EVIDENCE)
    assert decision.level is level
    assert decision.score == pytest.approx(score)
    assert decision.missing == (() if level is Level.SUFFICIENT else missing)


def test_the_verifiers_word_weighs_most() -> None:
    assert chance(0.9) > 0.5 > chance(0.1)
    assert chance(0.9) - chance(0.1) > 0.5


def test_what_nobody_could_judge_goes_to_a_person() -> None:
    decision = Learned(FixedScore(SufficiencyScore(unchecked="it is Polish"))).decide(EVIDENCE)
    assert decision.level is Level.REVIEW
    assert "it is Polish" in decision.reasons[0]
