"""Aggregates the findings on a draft: for each claim, and for the routing table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from suffice.checks.check import share_read
from suffice.checks.unread import unread
from suffice.text.sentences import sentences
from suffice.types import Claim, Code, Draft, Evidence, Finding, Grade, Passage, Support, Verdict

GRADES = ((0.85, Grade.SUPPORTED), (0.65, Grade.PARTIAL), (0.40, Grade.WEAK))
UNVERIFIED = "unverified"
"""Flag: the draft has citations, but the citations check is disabled."""
QUOTED = "quoted"
"""Flag: the draft consists of quotations, so its confidence is the probability that they answer."""


_ALWAYS_FLAGGED = (
    *(Code.FAILED, Code.MARKED, Code.DOUBTED),
    *(Code.BESIDE, Code.UNANSWERED, Code.FAR),
)
"""Codes that are flags even if the finding is not against a claim."""


@dataclass(frozen=True, slots=True)
class Assessment:
    """`faithfulness` is the share of claims that are backed, `facts` the share of their atomic
    facts that are backed, `unchecked` the share of claims without a judgement. `flags` are the
    codes of the findings."""

    claims: Mapping[Claim, Support]
    faithfulness: float
    facts: float
    unchecked: float
    share_read: float
    flags: frozenset[str]
    confidence: float | None = None
    """See `verdict.confidence`. `None`: no probability is available; conditions treat it as 1."""
    unread: tuple[str, ...] = ()
    """Statements outside the claims, which no check reads."""
    beside: int = 0
    """The number of characters outside the text of the draft, which no check reads."""

    @property
    def grade(self) -> Grade:
        for least, grade in GRADES:
            if self.faithfulness >= least:
                return grade
        return Grade.UNSUPPORTED

    @property
    def weak(self) -> tuple[Claim, ...]:
        """The claims that are neither backed nor contradicted."""
        return self.claims_with(Support.UNBACKED, Support.UNCHECKED)

    def claims_with(self, *supports: Support) -> tuple[Claim, ...]:
        """The claims with one of these judgements, in the order of the draft."""
        return tuple(claim for claim, support in self.claims.items() if support in supports)


def assess(
    draft: Draft, findings: Sequence[Finding], evidence: Evidence | None = None
) -> Assessment:
    """Assess a draft. If evidence is given, also find statements outside the claims."""
    outside = unread(draft, evidence) if evidence else ()
    by = by_claim(findings)
    standing = {claim: overall_support(by[claim]) for claim in draft.claims}
    supports = list(standing.values())
    facts = [fact for claim in draft.claims for fact in _facts(standing[claim], by[claim])]
    return Assessment(
        claims=standing,
        faithfulness=_share(supports, Support.BACKED),
        facts=_share(facts, Support.BACKED),
        unchecked=_share(supports, Support.UNCHECKED),
        share_read=share_read(
            draft, findings, draft.unread + sum(len(statement.text) for statement in outside)
        ),
        flags=frozenset(_flags(draft, findings, supports)),
        unread=tuple(statement.words for statement in outside),
        beside=draft.unread,
    )


def by_claim(findings: Iterable[Finding]) -> Mapping[Claim, list[Finding]]:
    """The findings of each claim, in order; an empty list for a claim without findings."""
    findings_of: dict[Claim, list[Finding]] = defaultdict(list)
    for finding in findings:
        findings_of[finding.claim].append(finding)
    return findings_of


def overall_support(findings: Iterable[Finding]) -> Support:
    """The overall judgement of a claim: any finding against it decides; otherwise a finding in
    favour makes it BACKED. An omitted condition is only a flag, as the claim may still be true."""
    supports = [f.support for f in findings if f.code is not Code.OMITTED]
    for support in (Support.CONTRADICTED, Support.UNBACKED, Support.BACKED):
        if support in supports:
            return support
    return Support.UNCHECKED


def _facts(standing: Support, findings: Iterable[Finding]) -> list[Support]:
    """The judgements of a claim's facts; a claim without separate facts counts as one fact. If the
    claim is not backed, at least one of its facts is not."""
    judged = [fact.support for finding in findings for fact in finding.facts]
    if not judged:
        return [standing]
    against = (Support.CONTRADICTED, Support.UNBACKED)
    if standing is not Support.BACKED and not any(fact in against for fact in judged):
        return [standing, *judged[1:]]
    return judged


def _flags(draft: Draft, findings: Sequence[Finding], supports: Sequence[Support]) -> Iterable[str]:
    against = (Support.CONTRADICTED, Support.UNBACKED)
    if draft.answers is not None:
        yield QUOTED
    yield from (f.code.value for f in findings if f.code and f.support in against)
    yield from (f.code.value for f in findings if f.code in _ALWAYS_FLAGGED)
    if any(f.check == "citations" and f.code is Code.OFF and f.claim.cites for f in findings):
        yield UNVERIFIED
    if Support.CONTRADICTED in supports:
        yield "contradicted"
    if any(f.code is Code.CHANGED and f.support is Support.CONTRADICTED for f in findings):
        yield "mismatch"


def _share(supports: Sequence[Support], wanted: Support) -> float:
    return supports.count(wanted) / len(supports) if supports else 0.0


# If several findings agree on a claim, the first check in this order is the most informative.
_TELLING = ("literals", "verbatim", "entailment", "structure", "citations")
_NEAR = ("omission", "grounding")
_WORDS = {
    Support.BACKED: "backed",
    Support.CONTRADICTED: "contradicted",
    Support.UNBACKED: "not backed",
    Support.UNCHECKED: "not checked",
}


@dataclass(frozen=True, slots=True)
class ClaimStatus:
    """`decided` is the finding to show, `passage` the source with its number, `span` the deciding
    words in it. `nearest`: no text decided, and the span is only the part most similar to the
    claim. `omitted` is the finding on a condition that the claim leaves out."""

    n: int
    claim: Claim
    support: Support
    findings: tuple[Finding, ...]
    decided: Finding | None
    passage: tuple[int, Passage] | None = None
    span: tuple[int, int] | None = None
    nearest: bool = False
    omitted: Finding | None = None

    @property
    def word(self) -> str:
        return _WORDS[self.support]

    @property
    def reason(self) -> str:
        """The reason without a final full stop; empty if there is no finding."""
        return self.decided.reason.rstrip(".") if self.decided else ""

    @property
    def quote(self) -> tuple[str, str, str]:
        """The deciding sentence of the source: the text before, within and after the span."""
        if self.passage is None or self.span is None:
            return "", "", ""
        text, (start, end) = self.passage[1].text, self.span
        around = [(a, b) for a, b in sentences(text) if a < end and start < b]
        first = min([start, *(a for a, _ in around)])
        last = max([end, *(b for _, b in around)])
        return text[first:start], text[start:end], text[end:last]


def claim_statuses(verdict: Verdict) -> list[ClaimStatus]:
    """One status per claim, in the order of the answer."""
    if verdict.draft is None:
        return []
    numbered = {p.id: (n, p) for n, p in enumerate(verdict.evidence.passages, 1)}
    statuses: list[ClaimStatus] = []
    findings = by_claim(verdict.findings)
    for n, claim in enumerate(sorted(verdict.draft.claims, key=lambda claim: claim.start), 1):
        about_it = tuple(findings[claim])
        support = overall_support(about_it)
        decided = _decided(about_it, support)
        located = decided is not None and decided.passage_id in numbered
        source = decided if located else _nearest(about_it)
        passage = numbered.get(source.passage_id or "") if source else None
        omitted = next((finding for finding in about_it if finding.code is Code.OMITTED), None)
        span = source.span if source and passage else None
        near = not located and passage is not None
        statuses.append(
            ClaimStatus(n, claim, support, about_it, decided, passage, span, near, omitted)
        )
    return statuses


def _nearest(findings: Sequence[Finding]) -> Finding | None:
    """The finding to compare a claim with if no text in the source decided: the sentence that
    shares most words with it, or the most similar passage."""
    near = [f for f in findings if f.check in _NEAR and f.passage_id]
    return min(near, key=lambda finding: _NEAR.index(finding.check), default=None)


def _decided(findings: Sequence[Finding], support: Support) -> Finding | None:
    """The most informative finding with this judgement, preferably with a place in the source."""
    saying = [f for f in findings if f.support is support and f.code is not Code.OMITTED]
    if support is Support.UNCHECKED:
        saying = [f for f in saying if f.check == "entailment"] or saying
    return min(saying, key=_order, default=None)


def _order(finding: Finding) -> tuple[bool, int]:
    ranked = finding.check in _TELLING
    return finding.passage_id is None, _TELLING.index(finding.check) if ranked else len(_TELLING)
