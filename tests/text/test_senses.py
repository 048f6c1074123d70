"""Words whose form turns what is said around."""

from __future__ import annotations

import pytest

from suffice.text.senses import denied_form


@pytest.mark.parametrize(
    ("said", "source", "found"),
    [
        ("leave is unpaid", "it is paid in full", "unpaid"),
        ("the fee is refundable", "the fee is nonrefundable", "refundable"),
        ("leave is unpaid", "paid or unpaid", ""),
        ("the rest is under review", "the rest", ""),
    ],
)
def test_a_word_in_the_form_that_denies_it(said: str, source: str, found: str) -> None:
    assert denied_form(said.split(), set(source.split())) == found
