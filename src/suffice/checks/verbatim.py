"""A claim that stands word for word in a passage it cites is backed; others stay unchecked."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.types import Claim, Draft, Evidence, Finding, Passage, Support


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The cheapest check: exact quotation of a passage that is really among the evidence."""

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        retrieved = {passage.id: passage for passage in evidence.passages}
        cited = {citation.n: retrieved.get(citation.passage.id) for citation in draft.citations}
        return [self._judge(claim, [cited.get(n) for n in claim.cites]) for claim in draft.claims]

    def _judge(self, claim: Claim, passages: list[Passage | None]) -> Finding:
        for passage in passages:
            start = passage.text.find(claim.text) if passage else -1
            if passage and start >= 0:
                span = (start, start + len(claim.text))
                return Finding(claim, "verbatim", Support.BACKED, 1.0, passage.id, span)
        reason = "not a quotation of a passage it cites"
        return Finding(claim, "verbatim", Support.UNCHECKED, reason=reason)
