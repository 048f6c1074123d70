"""The published weighted score, against values worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.gate.coverage import Context, Coverage, coverage_score
from suffice.settings import CoverageSettings
from suffice.types import Evidence, Level, Passage, Retrieved

QUESTION = "How long is parental leave for contractors?"  # long parental leave contractors


def test_worked_example() -> None:
    contexts = [Context("Parental leave is long." + "x" * 477)]
    score = coverage_score(QUESTION, contexts, 0.6, 2)
    assert score.coverage == pytest.approx(3 / 4)
    assert score.density == pytest.approx((0.5 + 37 / 50) / 2)
    assert score.count == 0.5
    expected = 0.4 * 0.75 + 0.3 * 0.6 + 0.2 * 0.62 + 0.1 * 0.5
    assert score.total == pytest.approx(expected)
    assert score.missing == ("contractors",)


def test_without_embeddings_the_similarity_term_is_constant() -> None:
    contexts = [Context("Parental leave is long, also for contractors. " * 40)]
    with_it = coverage_score(QUESTION, contexts, 0.5, 1).total
    assert coverage_score(QUESTION, contexts, None, 1).total == pytest.approx(with_it)


def test_summary_and_temperature_count() -> None:
    bare = coverage_score(QUESTION, [Context("Leave.", temperature=0)], None, 1)
    rich = coverage_score(QUESTION, [Context("Leave.", "parental contractors", 80)], None, 1)
    assert bare.coverage == 1 / 4
    assert rich.coverage == 3 / 4
    assert rich.density - bare.density == pytest.approx(0.5)


def test_at_most_three_missing_terms() -> None:
    score = coverage_score("alpha beta gamma delta epsilon", [Context("none of it")], 0.1, 1)
    assert score.missing == ("alpha", "beta", "gamma")


def decide(text: str, cosine: float | None, min_contexts: int = 1) -> tuple[Level, object]:
    items = (Retrieved(Passage(id="1", text=text, document="a.md"), cosine),)
    decision = Coverage(CoverageSettings(min_contexts)).decide(Evidence(QUESTION, items))
    return decision.level, decision


def test_three_levels() -> None:
    full = "Parental leave for contractors is twenty weeks long. " * 30
    assert decide(full, 0.9)[0] is Level.SUFFICIENT
    assert decide("Parental leave is long.", 0.5)[0] is Level.PARTIAL
    assert decide("Bicycles are blue.", 0.1)[0] is Level.INSUFFICIENT
    assert Coverage().decide(Evidence(QUESTION)).level is Level.INSUFFICIENT


def test_factors_and_the_complaint_about_density() -> None:
    _, decision = decide("Parental leave for contractors is long.", 0.8)
    assert [factor.split()[0] for factor in decision.factors] == ["coverage", "relevance", "count"]  # type: ignore[attr-defined]
    assert any("density" in reason and "under" in reason for reason in decision.reasons)  # type: ignore[attr-defined]


@given(st.text(max_size=80), st.lists(st.text(max_size=200), max_size=5), st.floats(0, 1))
def test_the_score_stays_between_zero_and_one(q: str, texts: list[str], cosine: float) -> None:
    score = coverage_score(q, [Context(text) for text in texts], cosine, 2)
    assert -1e-9 <= score.total <= 1 + 1e-9
