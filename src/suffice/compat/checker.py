"""The coverage policy with its published name, signature and texts. Contexts are plain dicts.

>>> from suffice import SufficientContextChecker
>>> contexts = [{"content": "Parental leave is 20 weeks.", "temperature": 41}]
>>> SufficientContextChecker().check_sufficiency("How long is parental leave?", contexts).level
'partial'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from math import isfinite, sqrt
from typing import Any, Protocol

from suffice.gate.policies.coverage import Context, Coverage
from suffice.settings import CoverageSettings
from suffice.types import GateDecision

_DATES = ("timestamp", "date", "created_at")


class Encoder(Protocol):
    """An embedding model whose `encode` turns a text into a vector."""

    def encode(self, text: str, /) -> Iterable[Any]: ...


@dataclass(frozen=True, slots=True)
class SufficiencyResult:
    """`level` is 'sufficient', 'partial' or 'insufficient'; a `Gate` may also return 'conflict' or
    'review'."""

    score: float
    level: str
    missing_aspects: list[str]
    confidence_factors: list[str]

    @classmethod
    def of(cls, decision: GateDecision) -> SufficiencyResult:
        """A gate decision in the published format."""
        level, missing, factors = decision.level.lower(), decision.missing, decision.factors
        return cls(decision.score, level, list(missing), list(factors))


@dataclass(frozen=True, slots=True)
class SufficientContextChecker:
    """Contexts are dicts with `content` and optionally `summary`, `temperature` and a date as
    `timestamp`, `date` or `created_at` (a date, ISO 8601 text, or seconds since 1970). Without an
    embedding model the similarity term is constant. By default it scores exactly as published and
    ignores dates; with `settings=CoverageSettings()` it scores like the policy's default.
    """

    embedding_model: Encoder | None = None
    settings: CoverageSettings = field(default_factory=lambda: CoverageSettings(exact=True))

    def check_sufficiency(
        self,
        query: str,
        retrieved_contexts: Sequence[Mapping[str, Any] | None] | None,
        min_contexts: int = 1,
        recency_days: int = 365,
    ) -> SufficiencyResult:
        """Whether the contexts suffice to answer the query. `None` means no contexts."""
        settings = replace(
            self.settings, min_contexts=max(min_contexts, 1), recency_days=recency_days
        )
        contexts = [_context(raw) for raw in retrieved_contexts or () if raw is not None]
        assessed = Coverage(settings).assess(query, contexts, self._best_cosine(query, contexts))
        return SufficiencyResult(
            score=assessed.score.total,
            level=assessed.level.lower(),
            missing_aspects=list(assessed.missing),
            confidence_factors=list(assessed.factors),
        )

    def _best_cosine(self, query: str, contexts: Sequence[Context]) -> float | None:
        if self.embedding_model is None or not contexts:
            return None
        asked = _vector(self.embedding_model, query)
        best = max(_cosine(asked, _vector(self.embedding_model, c.content)) for c in contexts)
        return best if self.settings.exact else max(best, 0.0)


def _context(raw: Mapping[str, Any]) -> Context:
    temperature = raw.get("temperature")
    return Context(
        content=str(raw.get("content") or ""),
        summary=str(raw.get("summary") or ""),
        temperature=temperature if isinstance(temperature, int | float) else None,
        dated=next((day for key in _DATES if (day := _day(raw.get(key)))), None),
    )


def _day(value: object) -> date | None:
    """The date that a value holds; `None` if it cannot be parsed."""
    try:
        if isinstance(value, datetime):
            return value.date()
        if isinstance(value, date):
            return value
        if isinstance(value, str):
            return datetime.fromisoformat(value).date()
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC).date()
    except (ValueError, OverflowError, OSError):
        return None
    return None


def _vector(model: Encoder, text: str) -> list[float]:
    return [float(value) for value in model.encode(text)]


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of two vectors; 0 if either is the zero vector."""
    lengths = sqrt(sum(x * x for x in a)) * sqrt(sum(y * y for y in b))
    cosine = sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0
    return min(max(cosine, -1.0), 1.0) if isfinite(cosine) else 0.0
