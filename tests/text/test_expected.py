"""The type of answer a question expects."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.text.question import Answer, Expected, expected, lacking


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many days per week may I work remotely?", Expected(Answer.DURATION)),
        ("How many remote days are allowed?", Expected(Answer.DURATION)),
        ("How many employees may one buddy look after?", Expected(Answer.NUMBER, "employees")),
        ("How much does a booking cost?", Expected(Answer.AMOUNT)),
        ("How much notice must I give?", Expected(Answer.FIGURE)),
        ("What is the maximum price of a room?", Expected(Answer.AMOUNT)),
        ("What percentage does the company contribute?", Expected(Answer.PERCENTAGE)),
        ("How long is the probation?", Expected(Answer.DURATION)),
        ("When is the thirteenth salary paid?", Expected(Answer.DATE)),
        ("By when do I have to use it?", Expected(Answer.DATE)),
        ("How deep is it?", Expected(Answer.FIGURE)),
        ("Do I get it when I work from home?", None),
        ("Who may approve it?", None),
    ],
)
def test_the_sort_of_answer(question: str, answer: Expected | None) -> None:
    assert expected(question) == answer


@pytest.mark.parametrize(
    ("question", "answer", "lacks"),
    [
        ("How long is leave?", "Leave is paid in full.", "length of time"),
        ("How long is leave?", "Leave lasts three weeks.", ""),
        ("When is it paid?", "It is paid in cash.", "date"),
        ("When is it paid?", "It is paid on 25 May.", ""),
        ("How much does it cost?", "It costs 40 euros.", ""),
        ("Who may approve it?", "A manager may.", ""),
        ("When traveling abroad, who pays?", "The company pays.", ""),
        ("When do I need a permit?", "You need one if the wall is high.", ""),
    ],
)
def test_what_an_answer_lacks_of_the_sort_that_is_asked_for(
    question: str, answer: str, lacks: str
) -> None:
    assert lacking(question, answer) == lacks


@settings(deadline=None)
@given(st.sampled_from(["how many ", "how much ", "when ", "what percentage "]), st.text())
def test_any_tail_can_be_read(head: str, tail: str) -> None:
    expected(head + tail)
