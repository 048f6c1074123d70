"""A claim is split into clauses; uncertain claims are not split."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.text.conditions import LONGEST, facts

SPLIT = [
    (
        "The fee is $5, and students do not pay it.",
        ["The fee is $5", "students do not pay it"],
    ),
    (
        "Leave is paid; the rate is 80 %; it is due in June.",
        ["Leave is paid", "the rate is 80 %", "it is due in June"],
    ),
]
WHOLE = [
    "Hotels and flights are paid.",
    "Research and development costs fell.",
    # A condition may hold for all of it.
    "If you move, the fee is 5 and the deposit is lost.",
    "Travel is paid and must be booked early, unless the manager agrees.",
    "Parental leave lasts 18 weeks, and is paid by the state",
    "Smith and Sons was founded in 1999, and acquired by Beta in 2004.",
    "The board said that the plan is good and is cheap.",
    'He said "it is paid, and it is due" to us.',
    "It is paid (the rate is 80 %; it is due).",
    "",
    "and and and",
]
WORDS = st.sampled_from(
    """Acme the a policy employees covers theft and excludes floods , ; which was founded in 1999
    is paid if unless not no but while because rose 5 % 2024 Jane Doe laptop phone must submit
    obtain approval ( ) effective " located between both only who are . - said that
    costs :""".split()
)


@pytest.mark.parametrize(("claim", "expected"), SPLIT)
def test_clauses_are_facts(claim: str, expected: list[str]) -> None:
    assert facts(claim) == expected


@pytest.mark.parametrize("claim", WHOLE)
def test_what_is_doubtful_stays_whole(claim: str) -> None:
    assert facts(claim) == [claim]


@given(st.lists(WORDS, max_size=40).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_no_word_is_lost_but_the_joints(claim: str) -> None:
    def words(text: str) -> set[str]:
        return set(re.findall(r"\w+", text))

    assert words(claim) - words(" ".join(facts(claim))) <= {"and", "but", "while"}


def test_what_is_longer_than_any_sentence_stays_whole() -> None:
    claim = "It is paid and is due. " * LONGEST
    assert facts(claim) == [claim]
