"""Calculations that a text writes out are recalculated."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.literals.compare import calculations
from suffice.text.literals.read import literals


def results(text: str) -> list[bool]:
    return [one.right for one in calculations(text, literals(text))]


@pytest.mark.parametrize(
    "text",
    [
        "The fee is £1,800 x 8% = £144.",
        "You wait 2 hours + 30 minutes = 150 minutes.",
        "That makes 12 × $30 = $360 a year.",
        "50 / 200 = 25%",
        "8% + 2% = 10%",
        "$100 / 3 = $33.33",
        "5 + 3 * 2 is 11",
    ],
)
def test_right(text: str) -> None:
    assert results(text) == [True]


@pytest.mark.parametrize(
    "text",
    [
        "The fee is £1,800 x 8% = £154.",
        "You wait 2 hours + 30 minutes = 120 minutes.",
        "20 days + 5 days = 26 days",
        "50 / 200 = 20%",
    ],
)
def test_wrong(text: str) -> None:
    assert results(text) == [False]


@pytest.mark.parametrize(
    "text",
    [
        "20 / 0 = 3",  # no result
        "3 days + £5 = 8",  # nothing that can be added
        "The limit is 5 GB. The fee is £8 = 8% more.",
        "Use 3 x 4 cables of 5 metres.",
    ],
)
def test_no_calculation(text: str) -> None:
    assert results(text) == []


@given(st.integers(1, 9999), st.integers(1, 999), st.integers(-3, 3))
def test_a_product_is_right_only_if_it_is_the_product(one: int, other: int, off: int) -> None:
    text = f"${one} x {other} = ${Fraction(one) * other + off}"
    assert results(text) == [off == 0] or one * other + off <= 0
