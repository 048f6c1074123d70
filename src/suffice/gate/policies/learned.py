"""The learned policy: a calibrated blend of verifier score and three measures of the evidence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from math import exp, log

from suffice.evidence.split import placed
from suffice.gate.missing import missing_aspects
from suffice.gate.policies.tiers import NO_PASSAGE, similarity
from suffice.models.llm.verifier import below_llm
from suffice.models.verifier import LLM, Pair, SufficiencyScore, Verifier, mean_odds
from suffice.settings import LearnedSettings
from suffice.text.digest import word_prefixes
from suffice.text.words import content_words
from suffice.types import Evidence, GateDecision, Level, Signal

# Beyond this value, the verifier's probability counts as certain.
_SURE = 6.0
# More passages than this add nothing, because the number retrieved is a setting.
_MANY = 3
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Features:
    """The features of the blend. `enough` is `None` if no verifier judged, and `similarity` if it
    is unknown for all passages."""

    enough: float | None
    similarity: float | None
    coverage: float
    count: int

    def values(self) -> dict[str, float]:
        """The known features, scaled for the blend."""
        found = {"coverage": self.coverage, "count": log(min(max(self.count, 1), _MANY))}
        if self.similarity is not None:
            found["similarity"] = self.similarity
        if self.enough is not None:
            found["verifier"] = _log_odds(self.enough)
        return found


@dataclass(frozen=True, slots=True)
class Blend:
    """A linear model over the features, calibrated on separate data."""

    weights: Mapping[str, float]
    offset: float
    slope: float
    shift: float

    def probability(self, features: Features) -> float:
        values = features.values()
        line = self.offset + sum(weight * values[name] for name, weight in self.weights.items())
        return 1 / (1 + exp(-max(-30.0, min(30.0, self.slope * line + self.shift))))


def features_of(evidence: Evidence, enough: float | None) -> Features:
    """The features of the evidence, including the verifier's score."""
    found = similarity(evidence)
    texts = [placed(item.passage) for item in evidence]
    known = found.best if found.scores else None
    return Features(enough, known, word_coverage(evidence.question, texts), found.passages)


def word_coverage(question: str, texts: list[str]) -> float:
    """The share of the question's words and numbers that the texts contain in any form."""
    asked = word_prefixes(" ".join([*content_words(question), *_NUMBER.findall(question)]))
    held = frozenset[str]().union(*(word_prefixes(text) for text in texts))
    return len(asked & held) / len(asked) if asked else 0.0


def blend_for(tier: str, features: Features) -> Blend:
    """The blend for the known features, with or without similarity and the verifier of that tier. A
    user's verifier is treated like the fast tier."""
    blends = _blends()
    judge = "no verifier" if features.enough is None else tier if tier in blends else "fast"
    return blends[judge]["similarity" if features.similarity is not None else "no similarity"]


@cache
def _blends() -> dict[str, dict[str, Blend]]:
    raw = json.loads((resources.files("suffice.gate.policies") / "blend.json").read_text("utf-8"))
    return {
        judge: {known: Blend(**values) for known, values in kinds.items()}
        for judge, kinds in raw["blends"].items()
    }


def _log_odds(probability: float) -> float:
    inside = min(max(probability, 1e-9), 1 - 1e-9)
    return max(-_SURE, min(_SURE, log(inside / (1 - inside))))


Aspects = Callable[[Evidence], tuple[str, ...]]
"""Returns the parts of a question that the evidence does not cover."""
_ENOUGH = "the LLM found that the passages answer the question, and quoted where"
_NOT_ENOUGH = "the LLM found that the passages do not answer the question"
_NO_SIMILARITY = "no similarity is known for these passages; judged without it"


@dataclass(frozen=True, slots=True)
class Learned:
    """Opens at even odds, or at the configured probability; below `sufficient`, with a caveat.
    Evidence near the threshold, or that no verifier could read, goes to human review."""

    verifier: Verifier
    settings: LearnedSettings = field(default_factory=LearnedSettings)
    aspects: Aspects = missing_aspects

    def decide(self, evidence: Evidence) -> GateDecision:
        if not evidence:
            return GateDecision(
                level=Level.INSUFFICIENT,
                score=0.0,
                policy="learned",
                reasons=(NO_PASSAGE,),
                missing=self.aspects(evidence),
                signals=(Signal("probability", 0.0),),
            )
        asked = replace(evidence, question=evidence.in_context(evidence.question))
        pair = Pair(
            asked.question,
            tuple(placed(item.passage) for item in evidence),
            alone=tuple(item.answers for item in evidence),
            alone_by=evidence.read_by,
        )
        score = self.verifier.sufficiency([pair])[0]
        if score.tier == LLM:
            return self._by_llm(evidence, score)
        features = features_of(asked, None if score.unchecked else score.enough)
        tier = score.tier or self.verifier.tier
        chance = blend_for(tier, features).probability(features)
        opens = self.settings.opens()
        if evidence.subject and not score.unchecked:
            chance = mean_odds([chance, self._without_subject(evidence, pair)])
        alone = _NO_SIMILARITY if features.similarity is None else ""
        level, reason = self._level(chance)
        if score.unchecked:
            level, reason = Level.REVIEW, f"the passages could not be judged: {score.unchecked}"
        return GateDecision(
            level=level,
            score=chance,
            policy="learned",
            reasons=tuple(filter(None, (reason, score.note, alone))),
            missing=() if level is Level.SUFFICIENT else self.aspects(evidence),
            tier=tier,
            signals=(
                Signal("probability", chance, opens),
                Signal("verifier", features.enough),
                Signal("best similarity", features.similarity),
                Signal("words covered", features.coverage),
                Signal("passages", features.count),
            ),
        )

    def _without_subject(self, evidence: Evidence, pair: Pair) -> float:
        """The probability for the question as it was asked. With the subject alone, questions that
        the passages do not answer score higher, too."""
        verifier = below_llm(self.verifier)
        bare = replace(pair, text=evidence.question, alone=(), alone_by="")
        score = verifier.sufficiency([bare])[0]
        features = features_of(evidence, None if score.unchecked else score.enough)
        return blend_for(score.tier or verifier.tier, features).probability(features)

    def _by_llm(self, evidence: Evidence, score: SufficiencyScore) -> GateDecision:
        """The LLM's judgement, which is final and not blended."""
        opens = self.verifier.thresholds.of(LLM).sufficiency
        enough = score.enough >= opens
        level = Level.SUFFICIENT if enough else Level.INSUFFICIENT
        return GateDecision(
            level=level,
            score=score.enough,
            policy="learned",
            reasons=(_ENOUGH if enough else _NOT_ENOUGH,),
            missing=() if enough else score.missing or self.aspects(evidence),
            tier=LLM,
            signals=(
                Signal("probability", score.enough, opens),
                Signal("passages", len(evidence)),
            ),
        )

    def _level(self, chance: float) -> tuple[Level, str]:
        reason = f"the passages have a {chance:.0%} chance of answering the question"
        opens, least = self.settings.opens(), self.settings.sufficient
        if abs(chance - opens) < self.settings.review_band / 2:
            return Level.REVIEW, f"{reason}, too close to the {opens:.0%} needed to decide"
        if chance < opens:
            return Level.INSUFFICIENT, f"{reason}; {opens:.0%} is needed"
        if chance < least:
            return Level.PARTIAL, f"{reason}; without a caveat, {least:.0%} is needed"
        return Level.SUFFICIENT, reason
