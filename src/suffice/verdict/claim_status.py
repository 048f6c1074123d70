"""Each claim of a checked answer as it is shown: where it stands, what decided, and the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.text.sentences import sentences
from suffice.types import Claim, Code, Finding, Passage, Support, Verdict
from suffice.verdict.assess import stands

# Of several findings that say the same of a claim, the first of these tells most.
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
    """`decided` is the finding to show; `passage` is the source with its number, `span` where in it
    the words stand that decided. `nearest`: nothing in the source did, and this is only the place
    nearest to the claim. `omitted`: a condition of the source that it leaves out."""

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
        """Why, without a full stop at its end; empty where nobody said anything."""
        return self.decided.reason.rstrip(".") if self.decided else ""

    @property
    def quote(self) -> tuple[str, str, str]:
        """The sentence of the source that decided: before, within and behind the span."""
        if self.passage is None or self.span is None:
            return "", "", ""
        text, (start, end) = self.passage[1].text, self.span
        around = [(a, b) for a, b in sentences(text) if a < end and start < b]
        first = min([start, *(a for a, _ in around)])
        last = max([end, *(b for _, b in around)])
        return text[first:start], text[start:end], text[end:last]


def claim_statuses(verdict: Verdict) -> list[ClaimStatus]:
    """One a claim, in the order of the answer."""
    if verdict.draft is None:
        return []
    numbered = {p.id: (n, p) for n, p in enumerate(verdict.evidence.passages, 1)}
    found: list[ClaimStatus] = []
    for n, claim in enumerate(sorted(verdict.draft.claims, key=lambda one: one.start), 1):
        own = tuple(finding for finding in verdict.findings if finding.claim == claim)
        support = stands(own)
        decided = _decided(own, support)
        told = decided is not None and decided.passage_id in numbered
        source = decided if told else _nearest(own)
        passage = numbered.get(source.passage_id or "") if source else None
        omitted = next((one for one in own if one.code is Code.OMITTED), None)
        span = source.span if source and passage else None
        near = not told and passage is not None
        found.append(ClaimStatus(n, claim, support, own, decided, passage, span, near, omitted))
    return found


def _nearest(findings: Sequence[Finding]) -> Finding | None:
    """Where a claim that nothing in the source decided may be compared with it: at the sentence
    that shares most words with it, or at the passage nearest in meaning."""
    near = [one for one in findings if one.check in _NEAR and one.passage_id]
    return min(near, key=lambda one: _NEAR.index(one.check), default=None)


def _decided(findings: Sequence[Finding], support: Support) -> Finding | None:
    """The finding that tells most among those that say so; the one with a place in the source
    first, where the claim is backed."""
    saying = [one for one in findings if one.support is support and one.code is not Code.OMITTED]
    if support is Support.UNCHECKED:
        saying = [one for one in saying if one.check == "entailment"] or saying
    return min(saying, key=_order, default=None)


def _order(finding: Finding) -> tuple[bool, int]:
    known = finding.check in _TELLING
    return finding.passage_id is None, _TELLING.index(finding.check) if known else len(_TELLING)
