"""The door of the published checker: its call, its result, its dicts."""

from __future__ import annotations

import inspect
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

import suffice
from suffice.evidence.index import today
from suffice.gate.checker import SufficiencyResult
from suffice.settings import CoverageSettings

QUERY = "How long is parental leave for contractors?"
FULL = "Parental leave for contractors is twenty weeks long. " * 30
Checker = suffice.SufficientContextChecker


def check(*contexts: dict[str, Any], **how: int) -> SufficiencyResult:
    return Checker().check_sufficiency(QUERY, contexts, **how)


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
    assert result.missing_aspects == ["1 of the 2 contexts wanted"]
    assert result.confidence_factors == ["coverage 1.00", "density 1.00"]


def test_levels_and_missing_aspects() -> None:
    result = check({"content": "Parental leave is long."})
    assert result.level == "partial"
    assert result.missing_aspects[0] == "no context speaks of 'contractors'"
    assert "density" in result.missing_aspects[1]
    assert check({"content": "Bicycles."}).level == "insufficient"


def test_no_contexts() -> None:
    result = check()
    assert result == SufficiencyResult(0.0, "insufficient", ["no context was found"], [])


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
def test_what_is_old_is_named_and_loses_weight(old: dict[str, Any]) -> None:
    fresh, stale = check({"content": FULL}), check({"content": FULL, **old})
    assert stale.score == pytest.approx(fresh.score - 0.1)
    assert "1 of 1 contexts are older than 365 days" in stale.missing_aspects
    assert check({"content": FULL, **old}, recency_days=500) == fresh
    assert check({"content": FULL, **old}, recency_days=0) == fresh


class Model:
    """An embedding model of two dimensions: leave, and everything else."""

    def encode(self, text: str) -> list[float]:
        return [float("leave" in text), float("bicycle" in text)]


def test_an_embedding_model_gives_the_relevance() -> None:
    near, far = {"content": "leave"}, {"content": "bicycle"}
    both = Checker(Model()).check_sufficiency("leave?", [far, near])
    assert "relevance 1.00" in both.confidence_factors
    without = Checker().check_sufficiency("leave?", [far, near])
    assert both.score == pytest.approx(without.score + 0.15)
    nothing = Checker(Model()).check_sufficiency("leave?", [{"content": "leav"}])
    assert nothing.score >= 0


def test_embeddings_may_be_required() -> None:
    strict = CoverageSettings(require_embeddings=True)
    result = Checker(settings=strict).check_sufficiency(QUERY, [{"content": FULL}])
    assert result.level == "insufficient"
    assert any("embeddings are required" in aspect for aspect in result.missing_aspects)
    assert (
        Checker(Model(), strict).check_sufficiency(QUERY, [{"content": FULL}]).level != result.level
    )
