"""The blend behind the learned gate: what the verifier, the similarity, the words and the number of
passages say together, as one probability.

The weights stand in blend.json beside this file, with where they come from; training/blend.py fits
them on questions that the verifier was not trained on, and calibrates them on dev rows.
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
from suffice.text.digest import stems
from suffice.text.words import content_words
from suffice.types import Evidence

# Beyond this the verifier's probability says no more than "sure".
_SURE = 6.0
# Beyond this one more passage says nothing: how many are searched for is a setting, not a sign.
_MANY = 3
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Looks:
    """What the blend weighs. `enough` is None where no verifier judged, `similarity` where no
    passage has a known one."""

    enough: float | None
    similarity: float | None
    coverage: float
    count: int

    def values(self) -> dict[str, float]:
        """Each as the blend counts it, those that are known."""
        found = {"coverage": self.coverage, "count": log(min(max(self.count, 1), _MANY))}
        if self.similarity is not None:
            found["similarity"] = self.similarity
        if self.enough is not None:
            found["verifier"] = _log_odds(self.enough)
        return found


@dataclass(frozen=True, slots=True)
class Blend:
    """A line over the looks, made a probability on rows that no weight was fitted on."""

    weights: Mapping[str, float]
    offset: float
    slope: float
    shift: float

    def probability(self, looks: Looks) -> float:
        values = looks.values()
        line = self.offset + sum(weight * values[name] for name, weight in self.weights.items())
        return 1 / (1 + exp(-max(-30.0, min(30.0, self.slope * line + self.shift))))


def look(evidence: Evidence, enough: float | None) -> Looks:
    """The looks of evidence, with what a verifier said of it."""
    found = similarity(evidence)
    texts = [placed(item.passage) for item in evidence]
    known = found.best if found.scores else None
    return Looks(enough, known, word_coverage(evidence.question, texts), found.passages)


def word_coverage(question: str, texts: list[str]) -> float:
    """The share of the question's words and numbers that the texts hold in some form."""
    asked = stems(" ".join([*content_words(question), *_NUMBER.findall(question)]))
    held = frozenset[str]().union(*(stems(text) for text in texts))
    return len(asked & held) / len(asked) if asked else 0.0


def blend_for(tier: str, looks: Looks) -> Blend:
    """The blend for what is known: with the verifier of that tier or without, with similarity or
    without. A verifier of the user's own is read as our fast tier is."""
    blends = _blends()
    judge = "no verifier" if looks.enough is None else tier if tier in blends else "fast"
    return blends[judge]["similarity" if looks.similarity is not None else "no similarity"]


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
