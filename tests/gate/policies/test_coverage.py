"""The published weighted score, against values worked out by hand."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.gate.policies.coverage import Context, Coverage, coverage_score
from suffice.settings import CoverageSettings
from suffice.types import Evidence, GateDecision, Level, Passage, Retrieved

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


def decide(text: str, cosine: float | None, min_contexts: int = 1) -> tuple[Level, GateDecision]:
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
    assert [factor.split()[0] for factor in decision.factors] == ["coverage", "relevance", "count"]
    assert any("density" in reason and "under" in reason for reason in decision.reasons)


DAY = date(2026, 6, 1)
FULL = "Parental leave for contractors is twenty weeks long. " * 30


def dated(*days_ago: int | None) -> Evidence:
    """One full passage for each age in days; `None`: without a date."""
    items = []
    for number, age in enumerate(days_ago):
        since = None if age is None else DAY - timedelta(days=age)
        passage = Passage(id=str(number), text=FULL, document="a.md", effective=since)
        items.append(Retrieved(passage, 0.9))
    return Evidence(QUESTION, tuple(items))


def test_a_stale_context_is_named_and_does_not_count_towards_the_wanted() -> None:
    policy = Coverage(CoverageSettings(min_contexts=2), DAY)
    fresh = policy.decide(dated(365, None))
    stale = policy.decide(dated(366, None))
    assert fresh.score - stale.score == pytest.approx(0.05)
    assert "1 of 2 contexts are older than 365 days" in stale.reasons
    assert not any("older" in reason for reason in fresh.reasons)
    signal = {signal.name: signal.value for signal in stale.signals}
    assert signal["stale contexts"] == 1


def test_recency_is_a_setting() -> None:
    old = dated(1000)
    assert Coverage(CoverageSettings(recency_days=1000), DAY).decide(old).score > 0.9
    assert Coverage(CoverageSettings(recency_days=0), DAY).decide(old).score > 0.9
    assert Coverage(CoverageSettings(recency_days=1_000_000), DAY).decide(old).score > 0.9
    assert Coverage(CoverageSettings(recency_days=999), DAY).decide(old).score < 0.9


def test_age_counts_from_the_day_it_holds() -> None:
    passage = Passage(id="1", text=FULL, document="a.md", since=DAY - timedelta(days=400))
    decision = Coverage(day=DAY).decide(Evidence(QUESTION, (Retrieved(passage, 0.9),)))
    assert "1 of 1 contexts are older than 365 days" in decision.reasons


def test_too_few_contexts_are_said() -> None:
    _, decision = decide(FULL, 0.9, min_contexts=2)
    assert "1 of 2 required contexts" in decision.reasons


def test_embeddings_may_be_required() -> None:
    strict = Coverage(CoverageSettings(require_embeddings=True))
    items = (Retrieved(Passage(id="1", text=FULL, document="a.md"), None),)
    shut = strict.decide(Evidence(QUESTION, items))
    assert shut.level is Level.INSUFFICIENT
    assert any("embeddings are required" in reason for reason in shut.reasons)
    assert Coverage().decide(Evidence(QUESTION, items)).open
    assert strict.decide(dated(None)).open


def test_the_parts_are_signals() -> None:
    _, decision = decide(FULL, 0.9)
    held = {signal.name: (signal.value, signal.threshold) for signal in decision.signals}
    assert held["score"] == (decision.score, 0.8)
    assert held["coverage"] == (1.0, None)
    assert held["relevance"] == (0.9, None)
    assert held["contexts"] == (1, 1)


@pytest.mark.parametrize("temperature", [-1000.0, float("nan"), float("inf"), 1e9])
def test_an_odd_temperature_keeps_the_score_in_range(temperature: float) -> None:
    score = coverage_score(QUESTION, [Context(FULL, temperature=temperature)], 1.0, 1)
    assert 0 <= score.total <= 1


@given(st.text(max_size=80), st.lists(st.text(max_size=200), max_size=5), st.floats(0, 1))
def test_the_score_stays_between_zero_and_one(q: str, texts: list[str], cosine: float) -> None:
    score = coverage_score(q, [Context(text) for text in texts], cosine, 2)
    assert -1e-9 <= score.total <= 1 + 1e-9
