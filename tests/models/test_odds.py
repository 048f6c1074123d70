"""Readings of the same statement are averaged as log-odds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.models.verifier import MOST, chance_of, log_odds, mean_odds

CHANCES = st.floats(0, 1)


@given(st.floats(0.001, 0.999))
def test_there_and_back(chance: float) -> None:
    assert chance_of(log_odds(chance)) == pytest.approx(chance)


def test_what_is_certain_has_a_bound() -> None:
    assert (log_odds(1.0), log_odds(0.0)) == (MOST, -MOST)
    assert log_odds(1.0, 6.0) == 6.0
    assert log_odds(0.999999, 6.0) == 6.0


@given(st.lists(CHANCES, min_size=1, max_size=5))
def test_together_lies_between_them(chances: list[float]) -> None:
    found = mean_odds(chances)
    assert min(chances) - 1e-5 <= found <= max(chances) + 1e-5


def test_the_mean_is_that_of_the_odds() -> None:
    assert mean_odds([0.8, 0.2]) == pytest.approx(0.5)
    assert mean_odds([0.8, 0.6]) == pytest.approx(0.7101, abs=1e-4)
