"""The status of each claim as shown to readers: the judgement, the deciding finding, the source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.text.sentences import sentences
from suffice.types import Claim, Code, Finding, Passage, Support, Verdict
from suffice.verdict.assess import by_claim, stands

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
    found: list[ClaimStatus] = []
    findings = by_claim(verdict.findings)
    for n, claim in enumerate(sorted(verdict.draft.claims, key=lambda one: one.start), 1):
        own = tuple(findings[claim])
        support = stands(own)
        decided = _decided(own, support)
        located = decided is not None and decided.passage_id in numbered
        source = decided if located else _nearest(own)
        passage = numbered.get(source.passage_id or "") if source else None
        omitted = next((one for one in own if one.code is Code.OMITTED), None)
        span = source.span if source and passage else None
        near = not located and passage is not None
        found.append(ClaimStatus(n, claim, support, own, decided, passage, span, near, omitted))
    return found


def _nearest(findings: Sequence[Finding]) -> Finding | None:
    """The finding to compare a claim with if no text in the source decided: the sentence that
    shares most words with it, or the most similar passage."""
    near = [one for one in findings if one.check in _NEAR and one.passage_id]
    return min(near, key=lambda one: _NEAR.index(one.check), default=None)


def _decided(findings: Sequence[Finding], support: Support) -> Finding | None:
    """The most informative finding with this judgement, preferably with a place in the source."""
    saying = [one for one in findings if one.support is support and one.code is not Code.OMITTED]
    if support is Support.UNCHECKED:
        saying = [one for one in saying if one.check == "entailment"] or saying
    return min(saying, key=_order, default=None)


def _order(finding: Finding) -> tuple[bool, int]:
    known = finding.check in _TELLING
    return finding.passage_id is None, _TELLING.index(finding.check) if known else len(_TELLING)
