"""Measures without an LLM against hand-computed values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from suffice.evidence.inputs import given
from suffice.lab.eval.cases import Question
from suffice.lab.eval.outcomes import abstention, context_precision, context_recall, means, measure
from suffice.types import Action, Evidence, GateDecision, Level, Verdict
from tests.lab.eval.overlap import OverlapVerifier

QUESTION = "leave is how long"
GATE = GateDecision(Level.SUFFICIENT, 1.0, "none")


def verdict(action: Action, *passages: str, released: str = "") -> Verdict:
    evidence = Evidence(QUESTION, given(passages))
    return Verdict(QUESTION, action, "", GATE, evidence, released=released, faithfulness=0.5)


def test_precision_counts_the_places_of_the_passages_with_a_reference() -> None:
    texts = ["leave is 16 weeks", "dogs", "sixteen weeks"]
    assert context_precision(texts, [("16 weeks", "sixteen weeks")]) == (1 + 2 / 3) / 2
    assert context_precision(texts[::-1], [("16 weeks",)]) == 1 / 3
    assert context_precision(texts, [("cats",)]) == 0


def test_recall_counts_the_references_that_were_retrieved() -> None:
    texts = ["leave is 16 weeks", "dogs"]
    assert context_recall(texts, [("16 weeks", "sixteen weeks"), ("full pay",)]) == 0.5


def test_quotes_are_references_before_answers() -> None:
    case = Question(QUESTION, True, (("16",), ("paid",)), quotes=("Leave is 16  weeks.",))
    found = measure(case, verdict(Action.WITHHOLD, "Leave is 16 weeks. Ask."), OverlapVerifier())
    assert found["context_recall"] == 1
    found = measure(
        replace(case, quotes=()), verdict(Action.WITHHOLD, "Leave is 16 weeks."), OverlapVerifier()
    )
    assert found["context_recall"] == 0.5


def test_an_answer_is_measured_if_it_was_served() -> None:
    case, verifier = Question(QUESTION, True), OverlapVerifier()
    passages = ("leave is long", "nothing of the kind", "Latin")
    served = measure(case, verdict(Action.SERVE, *passages, released="leave is long"), verifier)
    assert served == {
        "faithfulness": 0.5,
        "answer_relevance": 0.75,
        "context_relevance": pytest.approx(1 / 3),
    }
    withheld = measure(case, verdict(Action.WITHHOLD, *passages), verifier)
    assert set(withheld) == {"context_relevance"}
    assert measure(case, verdict(Action.WITHHOLD), verifier) == {}


def test_a_mean_is_over_the_questions_that_have_the_measure() -> None:
    found = means([{"faithfulness": 1.0}, {"faithfulness": 0.5}, {}])
    assert found["faithfulness"] == {"mean": 0.75, "n": 2}
    assert found["context_recall"] == {"mean": None, "n": 0}


def test_refusals_have_precision_and_recall() -> None:
    answerable = [True, True, False, False, False]
    actions = ["SERVE", "REVIEW", "WITHHOLD", "CAVEAT", "CONFLICT"]
    found = abstention(answerable, actions)
    assert found == {"refused": 2, "precision": 0.5, "recall": pytest.approx(1 / 3)}
    assert abstention([True], ["SERVE"]) == {"refused": 0, "precision": None, "recall": None}
