"""The council: several judges vote on whether the evidence supports an answer.

The gate decides first: if it finds the context insufficient, no majority can overrule it. A judge
that fails or cannot decide abstains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from suffice.checks.claim_text import alone
from suffice.draft.reading import read_draft
from suffice.errors import SufficeError
from suffice.models.verifier import Pair, SupportScore, Verifier
from suffice.types import GateDecision, Level, Passage

INSUFFICIENT = "REVIEW REQUIRED: Insufficient context"
DISAGREE = "REVIEW REQUIRED: Sources disagree"
NO_ANSWER = "REVIEW REQUIRED: No answer to vote on"
NO_MAJORITY = "REVIEW REQUIRED: No majority"
TOO_FEW = "REVIEW REQUIRED: Too few votes"
NOT_ASKED = "Not asked: the context is insufficient."


class Vote(StrEnum):
    APPROVE = "APPROVE"
    REJECT = "REJECT"
    ABSTAIN = "ABSTAIN"


@dataclass(frozen=True, slots=True)
class Ballot:
    """One judge's vote and its reason; `confidence` is set if the judge gives a number."""

    judge: str
    vote: Vote
    reason: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Motion:
    """An answer to vote on, with its question and passages. [n] in it cites the n-th passage."""

    question: str
    answer: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """The council's result: recommendation, votes and concerns."""

    recommendation: str
    ballots: tuple[Ballot, ...]
    concerns: tuple[str, ...]
    gate: GateDecision

    @property
    def tally(self) -> dict[str, int]:
        return {vote.value.lower(): _count(self.ballots, vote) for vote in Vote}


def advise(gate: GateDecision, ballots: Sequence[Ballot], *, answered: bool = True) -> Advice:
    """Combine the gate's decision with the votes. APPROVE or REJECT needs more than half of all
    judges; an abstention counts for neither."""
    concerns = [_lack(gate)] if not gate.open and gate.level is not Level.CONFLICT else []
    concerns += [conflict.reason for conflict in gate.conflicts if conflict.reason]
    concerns += [f"{one.judge}: {one.reason}" for one in ballots if one.vote is not Vote.APPROVE]
    return Advice(_recommended(gate, ballots, answered), tuple(ballots), tuple(concerns), gate)


def _recommended(gate: GateDecision, ballots: Sequence[Ballot], answered: bool) -> str:
    if gate.level is Level.CONFLICT:
        return DISAGREE
    if not gate.open:
        return INSUFFICIENT
    if not answered:
        return NO_ANSWER
    judges = len(ballots)
    if 2 * _count(ballots, Vote.ABSTAIN) >= judges:
        return TOO_FEW
    for vote in (Vote.APPROVE, Vote.REJECT):
        if 2 * _count(ballots, vote) > judges:
            return vote.value
    return NO_MAJORITY


def _count(ballots: Sequence[Ballot], vote: Vote) -> int:
    return sum(one.vote is vote for one in ballots)


def _lack(gate: GateDecision) -> str:
    """Describe insufficient context: the score and what is missing."""
    missing = "; ".join(gate.missing) or "; ".join(gate.reasons)
    detail = f": missing {missing}" if gate.missing else f": {missing}" if missing else ""
    return f"Insufficient context (score {gate.score:.2f}, {gate.level.value}){detail}"


@dataclass(frozen=True, slots=True)
class Member:
    """A built-in verifier as a judge."""

    verifier: Verifier

    @property
    def name(self) -> str:
        return f"{self.verifier.tier or 'own'} verifier ({self.verifier.id})"

    def vote(self, motion: Motion) -> Ballot:
        """Approve if the passages are sufficient and support every claim."""
        try:
            return self._voted(motion)
        except SufficeError as problem:
            return Ballot(self.name, Vote.ABSTAIN, f"The verifier failed: {problem.message}")

    def _voted(self, motion: Motion) -> Ballot:
        texts = tuple(passage.text for passage in motion.passages)
        thresholds = self.verifier.thresholds
        claims = alone(read_draft(motion.answer, motion.passages, drafter="motion"))
        if not texts or not claims:
            why = "The answer contains no claim" if texts else "There are no passages"
            return self._ballot(Vote.ABSTAIN, f"{why} to judge.")
        (enough,) = self.verifier.sufficiency([Pair(motion.question, texts)])
        pairs = [Pair(one, texts, motion.question, motion.answer) for one in claims]
        scores = self.verifier.support(pairs)
        for pair, score in zip(pairs, scores, strict=True):
            if score.unchecked:
                why = f"Could not judge “{pair.text}”: {score.unchecked}"
                return self._ballot(Vote.ABSTAIN, why)
        weakest = min(range(len(scores)), key=lambda n: scores[n].supported)
        worst, low = pairs[weakest].text, scores[weakest].supported
        if not all(map(thresholds.supported, scores)):
            return self._ballot(Vote.REJECT, f"“{worst}” is {_against(scores[weakest])}.", 1 - low)
        if enough.unchecked or not thresholds.enough(enough):
            why = enough.unchecked or f"the passages look insufficient (score {enough.enough:.2f})"
            return self._ballot(Vote.ABSTAIN, f"Every claim is supported, but {why}.", low)
        sure = min(low, enough.enough)
        return self._ballot(Vote.APPROVE, "Every claim is supported by the passages.", sure)

    def _ballot(self, vote: Vote, reason: str, confidence: float | None = None) -> Ballot:
        return Ballot(self.name, vote, reason, confidence)


def _against(score: SupportScore) -> str:
    if score.contradicted > score.not_mentioned:
        return f"contradicted by the passages (supported {score.supported:.2f})"
    return f"not supported by the passages (supported {score.supported:.2f})"


def as_json(motion: Motion, advice: Advice, record: str) -> dict[str, Any]:
    gate = advice.gate
    return {
        "question": motion.question,
        "answer": motion.answer or None,
        "recommendation": advice.recommendation,
        "votes": [
            {
                "judge": one.judge,
                "vote": one.vote.value,
                "reason": one.reason,
                "confidence": None if one.confidence is None else round(one.confidence, 4),
            }
            for one in advice.ballots
        ],
        "tally": advice.tally,
        "concerns": list(advice.concerns),
        "context_sufficiency": {
            "score": round(gate.score, 4),
            "level": gate.level.value,
            "missing": list(gate.missing),
        },
        "record": record or None,
    }
