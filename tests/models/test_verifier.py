"""Thresholds: each score is compared with those of its own tier; unjudged pairs never pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.models.verifier import SufficiencyScore, SupportScore, Thresholds

MIXED = Thresholds(0.6, 0.4, {"fast": Thresholds(0.3, 0.7)})
CHANCES = st.floats(0, 1)


@pytest.mark.parametrize(("tier", "support", "enough"), [("fast", 0.3, 0.7), ("strong", 0.6, 0.4)])
@given(chance=CHANCES)
def test_a_score_is_held_to_its_own_tier(
    tier: str, support: float, enough: float, chance: float
) -> None:
    assert MIXED.supported(SupportScore(chance, tier=tier)) == (chance >= support)
    assert MIXED.enough(SufficiencyScore(chance, tier=tier)) == (chance >= enough)


@given(chance=CHANCES, tier=st.sampled_from(["", "fast", "strong"]))
def test_what_nobody_judged_never_counts(chance: float, tier: str) -> None:
    everything = Thresholds(0.0, 0.0)
    assert not everything.supported(SupportScore(chance, unchecked="Latin.", tier=tier))
    assert not everything.enough(SufficiencyScore(chance, unchecked="Latin.", tier=tier))


def test_thresholds_are_a_value() -> None:
    assert hash(MIXED) == hash(Thresholds(0.6, 0.4))
    assert MIXED.of("fast") == Thresholds(0.3, 0.7)
    assert MIXED.of("anyone") is MIXED
