"""Incoming questions: what is usable and what is refused, with a remedy."""

from __future__ import annotations

import pytest

from suffice.errors import QuestionError
from suffice.text.question import LONGEST_QUESTION, checked_question


def test_a_question_is_stripped() -> None:
    assert checked_question("  How long?\n") == "How long?"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("half \ud800", "not valid text"),
        ("a" * (LONGEST_QUESTION + 1), "over the limit"),
    ],
)
def test_an_unusable_question_is_refused_with_a_remedy(question: str, said: str) -> None:
    with pytest.raises(QuestionError, match=said) as caught:
        checked_question(question)
    assert caught.value.remedy


def test_a_nul_character_is_replaced() -> None:
    assert checked_question("Who\0won? ") == "Who\ufffdwon?"
