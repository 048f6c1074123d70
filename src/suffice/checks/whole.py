"""Asks the verifier whether the evidence supports an answer as a whole.

A sentence can be right by itself and wrong beside its neighbours, for example about another group
than the one they name. The score decides no claim. It is part of the confidence.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from suffice.checks.claim_text import readable_text, without_gaps
from suffice.checks.prior import raised
from suffice.models.verifier import Pair, SupportScore, Verifier
from suffice.types import Claim, Draft, Evidence, Finding, Support

NAME = "whole"
_LIKELIER = 0.85
"""Log-odds added to the support of an answer with many claims: 70 % of the answers and summaries of
RAGTruth are right."""
_ONE_CLAIM = "the answer is a single claim"
_SKIPPED = "already decided by another check"


@dataclass(frozen=True, slots=True)
class WholeAnswer:
    """Scores an answer of several claims against all passages. Every claim gets the score, and none
    is decided."""

    verifier: Verifier
    needed: bool = True
    name: str = NAME

    def only(self, claims: Collection[Claim]) -> WholeAnswer:
        return replace(self, needed=self.needed and bool(claims))

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        if not self.needed or len(draft.claims) < 2:
            return _findings(draft, _SKIPPED if draft.claims[1:] else _ONE_CLAIM)
        (score,) = raised([self._read(draft, evidence)], draft, _LIKELIER)
        if score.unchecked:
            return _findings(draft, score.unchecked)
        reason = f"the answer as a whole has a {score.supported:.0%} chance of being supported"
        return _findings(draft, f"{reason} ({score.tier})", score.supported)

    def _read(self, draft: Draft, evidence: Evidence) -> SupportScore:
        text = without_gaps(draft.text)
        passages = tuple(map(readable_text, evidence.passages))
        (score,) = self.verifier.support([Pair(text, passages, evidence.question, text)])
        return score


def _findings(draft: Draft, reason: str, score: float | None = None) -> list[Finding]:
    return [Finding(claim, NAME, Support.UNCHECKED, score, reason=reason) for claim in draft.claims]
