"""The published checker: its call, its result, its dicts, its numbers and its texts."""

from __future__ import annotations

import inspect
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import suffice
from suffice.compat.checker import SufficiencyResult
from suffice.evidence.index import today
from suffice.settings import CoverageSettings
from suffice.types import GateDecision, Level

QUERY = "How long is parental leave for contractors?"
FULL = "Parental leave for contractors is twenty weeks long. " * 30
Checker = suffice.SufficientContextChecker


def check(*contexts: dict[str, Any], **how: int) -> SufficiencyResult:
    """As published."""
    return Checker().check_sufficiency(QUERY, contexts, **how)


def dated(*contexts: dict[str, Any], **how: int) -> SufficiencyResult:
    """As the policy scores by default."""
    return Checker(settings=CoverageSettings()).check_sufficiency(QUERY, contexts, **how)


def test_the_call_is_the_published_one() -> None:
    parameters = inspect.signature(Checker.check_sufficiency).parameters
    assert list(parameters) == [
        "self",
        "query",
        "retrieved_contexts",
        "min_contexts",
        "recency_days",
    ]
    assert parameters["min_contexts"].default == 1
    assert parameters["recency_days"].default == 365


def test_the_score_is_the_published_one() -> None:
    result = check({"content": FULL, "summary": "", "temperature": 50}, min_contexts=2)
    assert result.score == pytest.approx(0.4 + 0.15 + 0.2 + 0.05)
    assert result.level == "sufficient"
    assert result.missing_aspects == ["Only 1 context(s), need 2"]
    assert result.confidence_factors == ["Good keyword coverage (100%)"]


def test_levels_and_missing_aspects() -> None:
    result = check({"content": "Parental leave is long."})
    assert result.score == pytest.approx(0.4 * 3 / 4 + 0.15 + 0.1 * (0.023 + 0.74) + 0.1)
    assert result.level == "partial"
    assert result.missing_aspects == [
        "Query term 'contractors' not found in context",
        "Retrieved context lacks detailed information",
    ]
    assert result.confidence_factors == ["Good keyword coverage (75%)"]
    assert check({"content": "Bicycles."}).level == "insufficient"


def test_the_default_reading_says_it_in_our_words() -> None:
    result = dated({"content": "Parental leave is long."}, min_contexts=2)
    assert result.missing_aspects[0] == "no context mentions 'contractors'"
    assert "density" in result.missing_aspects[1]
    assert result.missing_aspects[2] == "1 of 2 required contexts"
    assert result.confidence_factors == ["coverage 0.75"]
    assert dated().missing_aspects == ["no context was found"]


@pytest.mark.parametrize("none", [None, (), [None]])
def test_no_contexts(none: Any) -> None:
    result = Checker().check_sufficiency(QUERY, none)
    assert result == SufficiencyResult(0.0, "insufficient", ["No relevant context found"], [])


def test_a_decision_of_the_gate_in_the_published_shape() -> None:
    decision = GateDecision(Level.PARTIAL, 0.6, "coverage", missing=("a",), factors=("b",))
    assert SufficiencyResult.of(decision) == SufficiencyResult(0.6, "partial", ["a"], ["b"])


def test_what_a_dict_lacks_is_read_as_nothing() -> None:
    assert check({}).level == "insufficient"
    odd = {"content": None, "summary": None, "temperature": "hot", "timestamp": "yesterday"}
    assert check(odd) == check({"content": ""})


def ago(days: int) -> date:
    return today() - timedelta(days=days)


@pytest.mark.parametrize(
    "old",
    [
        {"timestamp": ago(400)},
        {"date": ago(400).isoformat()},
        {"created_at": f"{ago(400)}T10:00:00+00:00"},
        {"timestamp": datetime.combine(ago(400), datetime.min.time(), UTC)},
        {"timestamp": datetime.combine(ago(400), datetime.min.time(), UTC).timestamp()},
        {"timestamp": "unknown", "date": ago(400)},
    ],
)
def test_what_is_old_is_named_and_loses_weight_unless_exact(old: dict[str, Any]) -> None:
    fresh, stale = dated({"content": FULL}), dated({"content": FULL, **old})
    assert stale.score == pytest.approx(fresh.score - 0.1)
    assert "1 of 1 contexts are older than 365 days" in stale.missing_aspects
    assert dated({"content": FULL, **old}, recency_days=500) == fresh
    assert dated({"content": FULL, **old}, recency_days=0) == fresh
    assert check({"content": FULL, **old}) == check({"content": FULL})


class Model:
    """An embedding model of two dimensions: leave, and everything else."""

    def encode(self, text: str) -> list[float]:
        return [float("leave" in text), float("bicycle" in text)]


def test_an_embedding_model_gives_the_relevance() -> None:
    near, far = {"content": "leave"}, {"content": "bicycle"}
    both = Checker(Model()).check_sufficiency("leave?", [far, near])
    assert "High semantic relevance (100%)" in both.confidence_factors
    without = Checker().check_sufficiency("leave?", [far, near])
    assert both.score == pytest.approx(without.score + 0.15)
    nothing = Checker(Model()).check_sufficiency("leave?", [{"content": "leav"}])
    assert nothing.score == pytest.approx(0.1 * (0.004 + 0.74) + 0.1)


class Opposite:
    """An embedding model under which the contexts point away from the query."""

    def encode(self, text: str) -> list[float]:
        return [1.0 if text.endswith("?") else -1.0]


def test_a_cosine_below_0_counts_as_published_or_as_0() -> None:
    contexts = [{"content": "leave"}]
    rest = 0.4 + 0.1 * (0.005 + 0.74) + 0.1
    exact = Checker(Opposite()).check_sufficiency("leave?", contexts)
    assert exact.score == pytest.approx(rest - 0.3)
    clipped = Checker(Opposite(), CoverageSettings()).check_sufficiency("leave?", contexts)
    assert clipped.score == pytest.approx(rest)


def test_embeddings_may_be_required() -> None:
    strict = CoverageSettings(require_embeddings=True)
    result = Checker(settings=strict).check_sufficiency(QUERY, [{"content": FULL}])
    assert result.level == "insufficient"
    assert any("embeddings are required" in aspect for aspect in result.missing_aspects)
    assert (
        Checker(Model(), strict).check_sufficiency(QUERY, [{"content": FULL}]).level != result.level
    )
