"""Checks every citation and every source named in words: does it exist, was it retrieved, is it in
force, and does the claim come from it?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date

from suffice.checks.aligned import Sentences, roots
from suffice.checks.claim_text import alone, cited_passages, numbered
from suffice.checks.resolve import Resolver
from suffice.checks.sources import Documents, Resolved, described
from suffice.deadline import watched
from suffice.evidence.index import today
from suffice.text.named import named
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Passage, Support

# If a claim has several sources, the worst result in this order decides.
_WORST = (
    Code.FABRICATED,
    Code.NOT_RETRIEVED,
    Code.EXPIRED,
    Code.STALE,
    Code.MISATTRIBUTED,
    Code.RESOLVED,
)
_ELSEWHERE, _HERE = 0.9, 0.5
"""A claim comes from another passage if a sentence there contains at least the first share of its
words, and the cited passages together contain no more than the second."""
_ENOUGH_WORDS = 4


@dataclass(frozen=True, slots=True)
class Citations:
    """Judges sources, not statements: a resolved source does not back a claim until another check
    finds that it supports the claim (`confirm_citations`). `day` is the date on which versions must
    be in force; by default, the date of the evidence."""

    documents: Documents | None = None
    day: date | None = None
    name: str = "citations"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        marked = numbered(draft, evidence)
        day = self.day or evidence.day or today()
        resolver = Resolver(evidence.passages, marked, self.documents, day, evidence.then)
        sentences = Sentences.of(evidence.passages)
        read = zip(draft.claims, alone(draft), cited_passages(draft, evidence), strict=True)
        return [
            self._finding(claim, list(_resolved(claim, text, within, resolver, sentences)))
            for claim, text, within in watched(read)
        ]

    def _finding(self, claim: Claim, found: list[Resolved]) -> Finding:
        if not found:
            reason = "the claim names no source"
            return Finding(claim, self.name, Support.UNCHECKED, reason=reason)
        worst = min(found, key=lambda one: _WORST.index(one.code))
        fine = worst.code is Code.RESOLVED
        passage = worst.passage
        return Finding(
            claim,
            self.name,
            Support.UNCHECKED if fine else Support.UNBACKED,
            passage_id=passage.id if passage else None,
            reason="; ".join(dict.fromkeys(one.reason for one in found if one.code is worst.code)),
            code=worst.code,
            kind=None if fine else Hallucination.ATTRIBUTION,
        )


def confirm_citations(
    draft: Draft, evidence: Evidence, findings: Sequence[Finding], by: Collection[str]
) -> tuple[Finding, ...]:
    """Refine RESOLVED findings with the results of the checks in `by`: VERIFIED if a cited passage
    backs the claim, MISATTRIBUTED if only another passage does. If a claim has no citation, the
    document it names counts as cited."""
    backing: dict[Claim, set[str]] = {}
    for finding in findings:
        if finding.check in by and finding.support is Support.BACKED and finding.passage_id:
            backing.setdefault(finding.claim, set()).add(finding.passage_id)
    sources = dict(zip(draft.claims, cited_passages(draft, evidence), strict=True))
    return tuple(
        _confirmed(
            finding,
            backing.get(finding.claim, set()),
            sources.get(finding.claim) or _named(finding, evidence),
        )
        if finding.code is Code.RESOLVED
        else finding
        for finding in findings
    )


def _confirmed(finding: Finding, backing: set[str], sources: Sequence[Passage]) -> Finding:
    if not backing:
        return finding
    if backing & {passage.id for passage in sources}:
        return replace(finding, support=Support.BACKED, code=Code.VERIFIED)
    return replace(
        finding,
        support=Support.UNBACKED,
        code=Code.MISATTRIBUTED,
        kind=Hallucination.ATTRIBUTION,
        passage_id=min(backing),
        reason="the cited passage does not support the claim, but another passage does",
    )


def _named(finding: Finding, evidence: Evidence) -> tuple[Passage, ...]:
    """The passages of the document that a claim names."""
    at = next((one for one in evidence.passages if one.id == finding.passage_id), None)
    if at is None:
        return ()
    return tuple(one for one in evidence.passages if one.edition == at.edition)


def _resolved(
    claim: Claim, text: str, within: Sequence[Passage], resolver: Resolver, sentences: Sentences
) -> Iterator[Resolved]:
    yield from (resolver.mark(n) for n in claim.cites)
    yield from (resolver.name(name, within) for name in named(text))
    if within and (other := _elsewhere(text, within, sentences)):
        reason = f"the statement is in {described(other)}, which the claim does not cite"
        yield Resolved(Code.MISATTRIBUTED, reason, other)


def _elsewhere(text: str, within: Sequence[Passage], sentences: Sentences) -> Passage | None:
    """Another passage with nearly the same words, if the cited passages hardly contain them."""
    words = roots(text)
    if len(words) < _ENOUGH_WORDS:
        return None
    here = frozenset[str]().union(*(sentences.words(passage) for passage in within))
    if len(words & here) > _HERE * len(words):
        return None
    best = sentences.nearest(words)
    near = best is not None and len(words & best.roots) >= _ELSEWHERE * len(words)
    return best.passage if best and near else None
