"""Adapts the verifier's probabilities to answers with many claims.

The fast tier is calibrated on as many right statements as wrong ones. Most of what a long answer
says is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from suffice.checks.claim_text import different
from suffice.models.odds import chance_of, log_odds
from suffice.models.verifier import SupportScore
from suffice.types import Draft

_FAST = "fast"
_MANY = 3


def raised(scores: Sequence[SupportScore], draft: Draft, by: float) -> list[SupportScore]:
    """The scores, with `by` added to their log-odds of support if the draft has at least `_MANY`
    different claims. Scores of other tiers, which are calibrated otherwise, do not change."""
    if different(draft) < _MANY:
        return list(scores)
    return [_raised(score, by) if score.tier == _FAST else score for score in scores]


def _raised(score: SupportScore, by: float) -> SupportScore:
    if score.unchecked:
        return score
    supported = max(score.supported, chance_of(log_odds(score.supported) + by))
    rest = (1 - supported) / (1 - score.supported) if score.supported < 1 else 1.0
    return replace(
        score,
        supported=supported,
        contradicted=score.contradicted * rest,
        not_mentioned=score.not_mentioned * rest,
    )
