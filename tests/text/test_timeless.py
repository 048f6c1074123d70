"""A question without its words about time."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.text.when import asked_about, timeless

TODAY = date(2026, 6, 1)


@pytest.mark.parametrize(
    ("question", "bare"),
    [
        ("How many desks did we have before May 2025?", "How many desks did we have?"),
        ("How long did the previous policy allow?", "How long did the policy allow?"),
        ("What did the 2023 policy say about desks?", "What did the policy say about desks?"),
        ("As of 1 June 2024, how many desks were there?", "how many desks were there?"),
        ("What used to be the deposit for a key?", "What was the deposit for a key?"),
        ("What was the limit for taxis last year?", "What was the limit for taxis?"),
        ("What did version 1.0 say about keys?", "What did the policy say about keys?"),
        ("What was in version 1.0 of the key policy?", "What was the key policy?"),
        ("What were the fees before the current key policy?", "What were the fees?"),
        ("How did the meal limit change between 2023 and 2025?", "What is the meal limit?"),
        ("What changed in the key policy?", "What is the key policy?"),
        ("How has the key policy changed?", "What is the key policy?"),
        (
            "What is the difference between the old and the new key policy?",
            "What is key policy?",
        ),
    ],
)
def test_what_is_asked_of_a_version(question: str, bare: str) -> None:
    assert timeless(question, asked_about(question, TODAY)) == bare


@pytest.mark.parametrize(
    "question",
    [
        "How many desks are there?",
        "Who may use the old mill?",
        "Do employees hired in 2019 get a desk?",
        "Is it due before 31 March 2027?",
    ],
)
def test_a_question_about_now_stays_as_it_is(question: str) -> None:
    assert timeless(question, asked_about(question, TODAY)) == question


@given(st.text(max_size=80))
def test_any_question_stays_one(question: str) -> None:
    assert bool(timeless(question, asked_about(question, TODAY))) == bool(question)
