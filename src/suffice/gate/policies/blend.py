"""Combines verifier score, similarity, word coverage and number of passages into one probability.

blend.json contains the weights and their origin. training/blend.py fits them on questions that the
verifier was not trained on, and calibrates them on development data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from math import exp, log

from suffice.evidence.split import placed
from suffice.gate.policies.similarity import similarity
from suffice.text.digest import word_prefixes
from suffice.text.words import content_words
from suffice.types import Evidence

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
