"""Asks the verifier whether the evidence supports or contradicts a claim, or neither."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from suffice.checks.aligned import Sentences, roots
from suffice.checks.claim_text import alone, cited_passages, readable_text
from suffice.checks.closely import read_closely
from suffice.checks.prior import raised
from suffice.deadline import watched
from suffice.models.verifier import Pair, SupportScore, Verifier
from suffice.settings import EntailmentSettings
from suffice.switch import rule
from suffice.text.facts import facts
from suffice.types import Claim, Draft, Evidence, Fact, Finding, Hallucination, Passage, Support

# Another passage replaces the cited passage only if its score is at least this much higher.
_SURER = 0.2
_LIKELIER = 1.75
"""Log-odds added to the support of each claim of an answer with many claims: 93 % of the claims in
the answers and summaries of RAGTruth are right."""
_SKIPPED = "already decided by another check"
_REASONS = {
    Support.BACKED: "supported by the evidence",
    Support.CONTRADICTED: "contradicted by the evidence",
    Support.UNBACKED: "not supported by the evidence",
}
_KINDS = {
    Support.CONTRADICTED: Hallucination.FAITHFULNESS,
    Support.UNBACKED: Hallucination.FACTUALITY,
}


@dataclass(frozen=True, slots=True)
class _Reading:
    """A claim to verify: its self-contained text, its facts, and the passages to compare with."""

    claim: Claim
    text: str
    facts: tuple[str, ...]
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class Entailment:
    """Verifies each claim against the passages it cites (all, if it cites none), and every fact of
    a claim with several facts. If only another passage supports a claim, that passage backs it: the
    citation is wrong, but the claim is not."""

    verifier: Verifier
    settings: EntailmentSettings = field(default_factory=EntailmentSettings)
    claims: frozenset[Claim] | None = None
    """The claims to verify; `None` for all."""
    name: str = "entailment"

    def only(self, claims: Collection[Claim]) -> Entailment:
        asked = frozenset(claims) if self.claims is None else self.claims.intersection(claims)
        return replace(self, claims=asked)

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        """Verify each claim against its cited passages, then against all passages, then against
        the statements nearest to it."""
        read = [one for one in _readings(draft, evidence) if self._asked(one.claim)]
        found = self._judged(read, draft, evidence)
        elsewhere = [
            replace(one, passages=evidence.passages)
            for one in read
            if _open(found[one.claim]) and len(one.passages) < len(evidence)
        ]
        for claim, second in self._judged(elsewhere, draft, evidence).items():
            surer = (second.score or 0.0) >= (found[claim].score or 0.0) + _SURER
            if second.support is Support.BACKED and surer:
                found[claim] = second
        still = [one for one in read if _open(found[one.claim])]
        found |= self._closer(still, found, draft, evidence.question)
        left = (
            Finding(claim, self.name, Support.UNCHECKED, reason=_SKIPPED) for claim in draft.claims
        )
        return [found.get(one.claim, one) for one in left]

    def _asked(self, claim: Claim) -> bool:
        return self.claims is None or claim in self.claims

    def _judged(
        self, read: Sequence[_Reading], draft: Draft, evidence: Evidence
    ) -> dict[Claim, Finding]:
        """The findings on the claims and their facts, from one verifier call."""
        pairs = [
            Pair(wording, tuple(map(readable_text, one.passages)), evidence.question, draft.text)
            for one in read
            for wording in (one.text, *one.facts)
        ]
        scores = iter(self._scores(pairs, draft))
        if not read:
            return {}
        sentences = Sentences.of(evidence.passages)
        found = {}
        for one in watched(read):
            finding = self._finding(one, next(scores), sentences)
            parts = tuple(Fact(text, self._support(next(scores))) for text in one.facts)
            found[one.claim] = replace(finding, facts=parts)
        return found

    def _closer(
        self, read: Sequence[_Reading], found: dict[Claim, Finding], draft: Draft, question: str
    ) -> dict[Claim, Finding]:
        """The findings of a second verification against the nearest statements, if they score
        higher."""
        pairs = [Pair(one.text, (), question, draft.text) for one in read]
        seconds = read_closely(self.verifier, pairs, [one.passages for one in read])
        again = [(one, second) for one, second in zip(read, seconds, strict=True) if second]
        scores = raised([second.score for _, second in again], draft, _LIKELIER)
        more: dict[Claim, Finding] = {}
        for (one, second), score in zip(again, scores, strict=True):
            first = found[one.claim]
            if score.supported <= (first.score or 0.0):
                continue
            support = self._support(score)
            backed = support is Support.BACKED
            more[one.claim] = replace(
                first,
                support=support,
                score=score.supported,
                passage_id=second.passage.id if backed else None,
                span=second.span if backed else None,
                reason=_reason(support, score),
                kind=_KINDS.get(support),
            )
        return more

    def _scores(self, pairs: Sequence[Pair], draft: Draft) -> list[SupportScore]:
        scores = self.verifier.support(pairs) if pairs else []
        return raised(scores, draft, _LIKELIER)

    def _finding(self, reading: _Reading, score: SupportScore, sentences: Sentences) -> Finding:
        support = self._support(score)
        if support is Support.UNCHECKED:
            reason = f"{score.unchecked} {score.note}".strip()
            return Finding(reading.claim, self.name, support, reason=reason)
        spoken = support is not Support.UNBACKED and score.passage is not None and reading.passages
        passage = reading.passages[score.passage or 0] if spoken else None
        words = roots(score.quote or reading.text)
        quoted = sentences.nearest(words, (passage,)) if passage else None
        reason = _reason(support, score)
        return Finding(
            reading.claim,
            self.name,
            support,
            score.supported,
            passage.id if passage else None,
            (quoted.start, quoted.end) if quoted else None,
            f"{reason}. {score.note}" if score.note else reason,
            kind=_KINDS.get(support),
        )

    def _support(self, score: SupportScore) -> Support:
        """Apply the thresholds of the tier that gave the score."""
        if score.unchecked:
            return Support.UNCHECKED
        if score.supported >= self.settings.backed:
            return Support.BACKED
        against = score.contradicted >= self.settings.contradicted
        return Support.CONTRADICTED if against else Support.UNBACKED


def _reason(support: Support, score: SupportScore) -> str:
    return f"{_REASONS[support]} ({score.supported:.2f}, {score.tier})"


def _open(finding: Finding) -> bool:
    return finding.support is Support.UNBACKED


def _readings(draft: Draft, evidence: Evidence) -> list[_Reading]:
    read = zip(draft.claims, alone(draft), cited_passages(draft, evidence), strict=True)
    return [
        _Reading(claim, text, _several(text), sources or evidence.passages)
        for claim, text, sources in watched(read)
    ]


@rule("facts", lambda text: ())
def _several(text: str) -> tuple[str, ...]:
    """The facts of a claim, if it has more than one."""
    found = facts(text)
    return tuple(found) if len(found) > 1 else ()
