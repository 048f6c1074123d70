"""The published weighted score: coverage, relevance, density and count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from suffice.gate.missing import missing_aspects
from suffice.settings import CoverageSettings
from suffice.text.words import content_words
from suffice.types import Evidence, GateDecision, Level

_NO_EMBEDDINGS = 0.15
_DEFAULT_TEMPERATURE = 37.0
_GOOD = 0.7
_THIN = 0.5


@dataclass(frozen=True, slots=True)
class Context:
    """A passage as this score reads it; `temperature` is the source's own measure of liveliness."""

    content: str
    summary: str = ""
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """The score and its four parts, each in [0, 1] (relevance `None` without embeddings)."""

    total: float
    coverage: float
    relevance: float | None
    density: float
    count: float
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """score = .4 coverage + .3 best cosine + .2 density + .1 min(n / min_contexts, 1)."""

    settings: CoverageSettings = field(default_factory=CoverageSettings)

    def decide(self, evidence: Evidence) -> GateDecision:
        contexts = [Context(p.text, p.summary, p.temperature) for p in evidence.passages]
        cosines = [item.relevance for item in evidence if item.relevance is not None]
        score = coverage_score(
            evidence.question, contexts, max(cosines, default=None), self.settings.min_contexts
        )
        return GateDecision(
            level=self._level(score.total) if contexts else Level.INSUFFICIENT,
            score=score.total,
            policy="coverage",
            reasons=_reasons(score) if contexts else ("no passage was found",),
            missing=missing_aspects(evidence),
            factors=_factors(score),
        )

    def _level(self, total: float) -> Level:
        if total >= self.settings.sufficient:
            return Level.SUFFICIENT
        return Level.PARTIAL if total >= self.settings.partial else Level.INSUFFICIENT


def coverage_score(
    question: str, contexts: Sequence[Context], best_cosine: float | None, min_contexts: int
) -> Score:
    """The score of a question against contexts, as published."""
    asked = content_words(question)
    held = {word for c in contexts for word in content_words(f"{c.content} {c.summary}")}
    missing = [word for word in asked if word not in held]
    coverage = 1 - len(missing) / len(asked) if asked else 0.0
    density = _density(contexts)
    count = min(len(contexts) / min_contexts, 1.0)
    similarity = _NO_EMBEDDINGS if best_cosine is None else 0.3 * best_cosine
    total = 0.4 * coverage + similarity + 0.2 * density + 0.1 * count
    return Score(total, coverage, best_cosine, density, count, tuple(missing[:3]))


def _density(contexts: Sequence[Context]) -> float:
    if not contexts:
        return 0.0
    characters = sum(len(context.content) for context in contexts)
    temperatures = [
        _DEFAULT_TEMPERATURE if c.temperature is None else c.temperature for c in contexts
    ]
    return (min(characters / 1000, 1.0) + min(fmean(temperatures) / 50, 1.0)) / 2


def _factors(score: Score) -> tuple[str, ...]:
    parts = {
        "coverage": score.coverage,
        "relevance": score.relevance or 0.0,
        "density": score.density,
        "count": score.count,
    }
    return tuple(f"{name} {value:.2f}" for name, value in parts.items() if value > _GOOD)


def _reasons(score: Score) -> tuple[str, ...]:
    relevance = "unknown" if score.relevance is None else f"{score.relevance:.2f}"
    said = [
        f"coverage {score.coverage:.2f}, relevance {relevance}, density {score.density:.2f}, "
        f"count {score.count:.2f}"
    ]
    if score.density < _THIN:
        said.append(f"the passages say little: density {score.density:.2f} is under {_THIN}")
    return tuple(said)
