"""Figures against a count by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.measure import auroc, best_balanced, items, margin, question_margin

SCORED = st.lists(st.tuples(st.booleans(), st.integers(-4, 4)), min_size=2, max_size=40)


@given(SCORED)
def test_auroc_counts_the_pairs_in_order(scored: list[tuple[bool, int]]) -> None:
    right = [score for truth, score in scored if truth]
    wrong = [score for truth, score in scored if not truth]
    found = auroc(np.array([t for t, _ in scored]), np.array([float(s) for _, s in scored]))
    if not right or not wrong:
        assert np.isnan(found)
        return
    above = sum((r > w) + (r == w) / 2 for r in right for w in wrong)
    assert found == pytest.approx(above / len(right) / len(wrong))


def test_a_perfect_score_is_balanced() -> None:
    truth = np.arange(100) >= 50
    assert best_balanced(truth, np.arange(100.0)) == pytest.approx(1)


def test_a_question_is_the_mean_of_all_passages_and_the_best_one() -> None:
    assert question_margin([("together", 2.0), ("alone", -3.0), ("alone", 1.0)]) == 1.5
    assert question_margin([("together", 2.0)]) == 2.0
    assert question_margin([("none", -1.0)]) == -1.0


def test_a_margin_is_the_log_odds_of_a_column() -> None:
    logits = np.random.default_rng(2).normal(size=(5, 3))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    odds = np.log(chances[:, 1] / (1 - chances[:, 1]))
    assert margin(logits, 1) == pytest.approx(odds)


def test_a_response_is_as_good_as_its_two_worst_claims() -> None:
    claim: dict[str, Any] = {"set": "a", "item": "g0", "task": 0, "truth": False, "way": "near"}
    asked: dict[str, Any] = {"set": "b", "item": "s0", "task": 1, "truth": True}
    pairs = [claim, claim, claim, asked | {"way": "together"}, asked | {"way": "alone"}]
    logits = np.zeros((5, 5))
    logits[:3, 0] = (4, 1, 2)
    logits[3:, 4] = (3, 5)
    response, question = items(pairs, logits)
    assert (response.set, response.truth, question.set, question.truth) == ("a", False, "b", True)
    assert response.margin == pytest.approx(1.5 - np.log(2))
    assert question.margin == pytest.approx(4)
