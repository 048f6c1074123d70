"""Confidence-bound retrieval: answer only if the bound reaches the threshold."""

from __future__ import annotations

from math import log, sqrt

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


def epsilon_of(**how: object) -> float:
    verdict = CautiousRAG(LEAVE, **how).answer(QUESTION).verdict  # type: ignore[arg-type]
    (found,) = (one.value for one in verdict.gate.signals if one.name == "epsilon")
    assert found is not None
    return found


def test_retrieval_chooses_the_inequality_and_takes_its_numbers() -> None:
    n = len(LEAVE)
    hoeffding = sqrt(log(40) / (2 * n))
    assert epsilon_of() == pytest.approx(hoeffding)
    assert epsilon_of(retrieval="sequential") == pytest.approx(hoeffding)  # c = .5
    azuma = 0.2 * sqrt(2 * log(40) / n)
    assert epsilon_of(retrieval="reranked", c=0.2) == pytest.approx(azuma)
    bernstein = sqrt(2 * 0.01 * log(40) / n) + log(40) / (3 * n)
    assert epsilon_of(retrieval="low-variance", variance=0.01) == pytest.approx(bernstein)


def test_the_unclipped_bound_stands_beside_the_clipped_one() -> None:
    far = CautiousRAG(LEAVE).answer("Who won the chess tournament?")
    held = {signal.name: signal.value for signal in far.verdict.gate.signals}
    assert far.lower_bound == 0.0
    assert held["mean"] is not None
    assert held["epsilon"] is not None
    assert far.unclipped_bound == pytest.approx(held["mean"] - held["epsilon"])
    assert far.unclipped_bound is not None
    assert far.unclipped_bound < 0
    near = CautiousRAG(LEAVE, inequality="betting").answer(QUESTION)
    assert near.unclipped_bound == near.lower_bound > 0
    assert CautiousRAG([]).answer(QUESTION).unclipped_bound is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"inequality": "x"},
        {"threshold": 2.0},
        {"delta": 0.0},
        {"retrieval": "x"},
        {"c": 2.0},
        {"variance": 1.0},
    ],
)
def test_wrong_numbers_are_told(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="CautiousRAG") as told:
        CautiousRAG(LEAVE, **wrong)  # type: ignore[arg-type]
    assert told.value.remedy
