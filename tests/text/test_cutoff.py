"""A text that breaks off is distinguished from one that only lacks its full stop."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.checks.structure import cut_off


@pytest.mark.parametrize(
    "text",
    [
        "Employees may carry over up to",
        "Leave is 20 weeks. It may be taken",
        "Leave is 20 weeks [1",
        "Leave is 20 weeks (Source",
        "You need:",
        "Bring a pen, a form,",
        "He said (see the",
        "| a | b |\n|--|--|\n| 1 | 2",
        "```py\nx = 1",
        "Pay is full.\n\nAfter the tenth year of service one additional day of leave is",
    ],
)
def test_it_breaks_off(text: str) -> None:
    assert cut_off(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Leave is 20 weeks.",
        "Leave is 20 weeks",
        "Pay is full. Leave is 20 weeks [1]",
        "Pay is full. Leave is 20 weeks 【2】\n",
        "Pay is full. See the “Guide”",
        "Pay is full. Write to desk@quillmere.example",
        "You need:\n- a form.\n- a pen",
        "| a | b |\n|--|--|\n| 1 | 2 |",
        "```py\nx = 1\n```",
        "It is in the table.\n\nAnswer: Line 29",
    ],
)
def test_it_does_not(text: str) -> None:
    assert not cut_off(text)


@given(st.text(max_size=60))
def test_any_text_gets_an_answer_and_a_full_stop_mends_prose(text: str) -> None:
    assert cut_off(text) in (True, False)
    assert not cut_off("Leave is 20 weeks. It may be taken at once.")
