"""The published weighted score of coverage, relevance, density and count.

By default, it compares whole words, and stale contexts have less weight. `exact` follows the
published form (published_coverage.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from math import fsum, inf, isfinite
from statistics import fmean
from typing import NamedTuple

from suffice.evidence.index import today
from suffice.gate.missing import missing_aspects
from suffice.gate.policies.tiers import NO_PASSAGE, similarity
from suffice.settings import CoverageSettings
from suffice.text.words import content_words
from suffice.types import Evidence, GateDecision, Level, Signal

STOP_WORDS = frozenset(
    """
    all and are but can for had has her how not one our out the was what when where which who why
    you
    """.split()
)
NO_CONTEXT = "No relevant context found"
GOOD = 0.7
THIN = 0.5
_TERM = re.compile(r"\b[a-zA-Z]{3,}\b")
_NAMED = 3


def terms(question: str) -> list[str]:
    """The distinct words of at least three Latin letters, in order and without stop words."""
    found = _TERM.findall(question.lower())
    return list(dict.fromkeys(word for word in found if word not in STOP_WORDS))


def lacking(asked: Sequence[str], texts: Sequence[str]) -> list[str]:
    """The terms that do not occur in the texts, not even inside longer words."""
    held = " ".join(texts).lower()
    return [term for term in asked if term not in held]


def aspects(missing: Sequence[str], density: float, contexts: int, wanted: int) -> Iterator[str]:
    """What is missing, in the published order: at most three terms, then detail, then contexts."""
    yield from (f"Query term '{term}' not found in context" for term in missing[:_NAMED])
    if density < THIN:
        yield "Retrieved context lacks detailed information"
    if contexts < wanted:
        yield f"Only {contexts} context(s), need {wanted}"


def factors(coverage: float, relevance: float | None) -> Iterator[str]:
    """What supports the contexts. Only coverage and relevance are listed."""
    if coverage > GOOD:
        yield f"Good keyword coverage ({coverage:.0%})"
    if relevance is not None and relevance > GOOD:
        yield f"High semantic relevance ({relevance:.0%})"


_NO_EMBEDDINGS = 0.15
_DEFAULT_TEMPERATURE = 37.0
_NEEDS_EMBEDDINGS = "embeddings are required, but no similarity is known"


@dataclass(frozen=True, slots=True)
class Context:
    """A passage as used by this score. `temperature` is the source's own measure of activity.
    `dated` is the day since which it applies; without it, the context is never stale."""

    content: str
    summary: str = ""
    temperature: float | None = None
    dated: date | None = None


@dataclass(frozen=True, slots=True)
class Score:
    """The score and its four parts, each in [0, 1]. Relevance is `None` without embeddings. An
    exact score is not clipped: a negative cosine or temperature is used as it is."""

    total: float
    coverage: float
    relevance: float | None
    density: float
    count: float
    missing: tuple[str, ...]
    contexts: int
    stale: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """The level, what supports the contexts, and what they lack, with the question's words
    (`missing`) or without (`against`)."""

    level: Level
    score: Score
    against: tuple[str, ...]
    missing: tuple[str, ...]
    factors: tuple[str, ...]


class _Texts(NamedTuple):
    """The texts of an assessment."""

    missing: tuple[str, ...]
    factors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """score = .4 coverage + .3 best cosine + .2 density + .1 min(n / min_contexts, 1)."""

    settings: CoverageSettings = field(default_factory=CoverageSettings)
    day: date | None = None
    """The day that decides which contexts are stale; by default, the day of the decision."""

    def decide(self, evidence: Evidence) -> GateDecision:
        found = similarity(evidence)
        best = found.best if found.scores else None
        assessed = self.assess(evidence.question, _contexts(evidence), best)
        reasons = (_score_reason(assessed.score), *assessed.against, *found.notes)
        return GateDecision(
            level=assessed.level,
            score=assessed.score.total,
            policy="coverage",
            reasons=reasons if evidence else (NO_PASSAGE,),
            missing=assessed.missing if self.settings.exact else missing_aspects(evidence),
            factors=assessed.factors,
            signals=self._signals(assessed.score),
        )

    def assess(
        self, question: str, contexts: Sequence[Context], best_cosine: float | None
    ) -> Assessment:
        """Assess contexts, which need not be passages."""
        settings = self.settings
        score = coverage_score(
            question,
            contexts,
            best_cosine,
            settings.min_contexts,
            self._oldest(),
            as_published=settings.exact,
        )
        against = tuple(self._against(score))
        texts = self._published(score) if settings.exact else _in_words(score, against)
        return Assessment(self._level(score), score, against, *texts)

    def _published(self, score: Score) -> _Texts:
        if not score.contexts:
            return _Texts((NO_CONTEXT,), ())
        wanted = self.settings.min_contexts
        lacks = (*aspects(score.missing, score.density, score.contexts, wanted),)
        if self._needs_embeddings(score):
            lacks = (*lacks, _NEEDS_EMBEDDINGS)
        return _Texts(lacks, tuple(factors(score.coverage, score.relevance)))

    def _level(self, score: Score) -> Level:
        if not score.contexts or self._needs_embeddings(score):
            return Level.INSUFFICIENT
        if score.total >= self.settings.sufficient:
            return Level.SUFFICIENT
        return Level.PARTIAL if score.total >= self.settings.partial else Level.INSUFFICIENT

    def _needs_embeddings(self, score: Score) -> bool:
        return score.relevance is None and self.settings.require_embeddings

    def _against(self, score: Score) -> Iterator[str]:
        wanted = self.settings.min_contexts
        if self._needs_embeddings(score):
            yield _NEEDS_EMBEDDINGS
        if score.density < THIN:
            yield f"little detail: density {score.density:.2f} under {THIN}"
        if score.contexts < wanted:
            yield f"{score.contexts} of {wanted} required contexts"
        if score.stale:
            days = self.settings.recency_days
            yield f"{score.stale} of {score.contexts} contexts are older than {days} days"

    def _oldest(self) -> date | None:
        """The first day that is not stale; `None` for no limit, as in the published form."""
        if self.settings.exact:
            return None
        day, back = self.day or today(), self.settings.recency_days
        return day - timedelta(days=back) if 0 < back < day.toordinal() else None

    def _signals(self, score: Score) -> tuple[Signal, ...]:
        settings = self.settings
        unknown = f"not known; {_NO_EMBEDDINGS} is used instead" if score.relevance is None else ""
        limited = settings.recency_days and not settings.exact
        limit = f"older than {settings.recency_days} days" if limited else "no limit"
        return (
            Signal(
                "score", score.total, settings.sufficient, f"partial from {settings.partial:.2f}"
            ),
            Signal("coverage", score.coverage),
            Signal("relevance", score.relevance, note=unknown),
            Signal("density", score.density, THIN),
            Signal("contexts", score.contexts, settings.min_contexts),
            Signal("stale contexts", score.stale, note=limit),
        )


def coverage_score(
    question: str,
    contexts: Sequence[Context],
    best_cosine: float | None,
    min_contexts: int,
    oldest: date | None = None,
    *,
    as_published: bool = False,
) -> Score:
    """The score of contexts for a question. A context dated before `oldest` does not count towards
    `min_contexts`, but its text does. With `as_published`, terms also match inside words, and a
    question without terms counts as covered."""
    texts = [f"{context.content} {context.summary}" for context in contexts]
    if as_published:
        asked = terms(question)
        missing = lacking(asked, texts)
    else:
        asked = content_words(question)
        held = {word for text in texts for word in content_words(text)}
        missing = [word for word in asked if word not in held]
    found = len(asked) - len(missing)
    coverage = found / len(asked) if asked else float(as_published)
    density = _density(contexts, least=-inf if as_published else 0.0)
    stale = sum(c.dated < oldest for c in contexts if oldest and c.dated)
    count = min((len(contexts) - stale) / min_contexts, 1.0)
    near = _NO_EMBEDDINGS if best_cosine is None else 0.3 * best_cosine
    total = fsum((0.4 * coverage, near, 0.2 * density, 0.1 * count)) if contexts else 0.0
    return Score(
        total=min(total, 1.0),
        coverage=coverage,
        relevance=best_cosine,
        density=density,
        count=count,
        missing=tuple(missing[:3]),
        contexts=len(contexts),
        stale=stale,
    )


def _contexts(evidence: Evidence) -> list[Context]:
    """The distinct passages as contexts."""
    passages = {passage.id: passage for passage in evidence.passages}.values()
    return [Context(p.text, p.summary, p.temperature, p.effective or p.since) for p in passages]


def _density(contexts: Sequence[Context], least: float) -> float:
    if not contexts:
        return 0.0
    characters = sum(len(context.content) for context in contexts)
    warmth = fmean(_temperature(context) for context in contexts) / 50
    return (min(characters / 1000, 1.0) + min(max(warmth, least), 1.0)) / 2


def _temperature(context: Context) -> float:
    given = context.temperature
    return _DEFAULT_TEMPERATURE if given is None or not isfinite(given) else given


def _score_reason(score: Score) -> str:
    relevance = (
        f"unknown (no similarity is known; {_NO_EMBEDDINGS} is used instead)"
        if score.relevance is None
        else f"{score.relevance:.2f}"
    )
    return (
        f"coverage {score.coverage:.2f}, relevance {relevance}, density {score.density:.2f}, "
        f"count {score.count:.2f}"
    )


def _in_words(score: Score, against: tuple[str, ...]) -> _Texts:
    """What is missing and what supports the contexts, in the default wording."""
    parts = {
        "coverage": score.coverage,
        "relevance": score.relevance or 0.0,
        "density": score.density,
        "count": score.count,
    }
    good = tuple(f"{name} {value:.2f}" for name, value in parts.items() if value > GOOD)
    if not score.contexts:
        return _Texts(("no context was found",), good)
    return _Texts((*(f"no context mentions '{word}'" for word in score.missing), *against), good)
