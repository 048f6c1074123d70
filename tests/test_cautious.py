"""Confidence-bound retrieval: answer only if the bound reaches the threshold."""

from __future__ import annotations

import pytest

from suffice import CautiousRAG
from suffice.errors import SettingsError

LEAVE = [
    "Parental leave lasts 18 weeks.",
    "Parental leave is paid in full.",
    "Parental leave can be shared by both parents.",
    "Parental leave starts on the day of birth.",
    "Parental leave is open to every employee.",
    "Parental leave does not reduce annual leave.",
]
QUESTION = "How long is parental leave?"


def test_it_answers_where_the_bound_reaches_the_threshold() -> None:
    result = CautiousRAG(LEAVE, threshold=0.1).answer(QUESTION)
    assert result.confident
    assert result.answer is not None
    assert "18 weeks" in result.answer
    assert result.lower_bound >= result.threshold == 0.1


def test_it_stays_silent_where_it_does_not() -> None:
    rag = CautiousRAG(LEAVE)
    for question in (QUESTION, "Who won the chess tournament?"):
        result = rag.answer(question)
        assert not result.confident
        assert result.answer is None
        assert result.lower_bound < result.threshold == 0.3
        assert result.verdict.reason


def test_a_tighter_inequality_and_more_doubt_give_a_higher_bound() -> None:
    plain = CautiousRAG(LEAVE).answer(QUESTION).lower_bound
    assert CautiousRAG(LEAVE, inequality="betting").answer(QUESTION).lower_bound > plain
    assert CautiousRAG(LEAVE, delta=0.4).answer(QUESTION).lower_bound > plain
    # One passage says less than six.
    assert CautiousRAG(LEAVE, top=1).answer(QUESTION).lower_bound < plain


def test_nothing_to_search_in() -> None:
    result = CautiousRAG([]).answer(QUESTION)
    assert (result.confident, result.answer, result.lower_bound) == (False, None, 0.0)


@pytest.mark.parametrize("wrong", [{"inequality": "x"}, {"threshold": 2.0}, {"delta": 0.0}])
def test_wrong_numbers_are_told(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="CautiousRAG") as told:
        CautiousRAG(LEAVE, **wrong)  # type: ignore[arg-type]
    assert told.value.remedy
