"""A claim that stands word for word in a passage it cites is backed; others stay unchecked."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.text.facts.marks import bare
from suffice.text.sentences import ANSWER_MARK, Span, sentences
from suffice.types import Claim, Draft, Evidence, Finding, Passage, Support


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The cheapest check: whole sentences of a passage that is really among the evidence.

    Part of a sentence is no quotation: "employees may carry over leave" out of "No employees may
    carry over leave" says the opposite.
    """

    uncited: bool = False
    """Marks are not expected: any passage may be the one that is quoted."""
    name: str = "verbatim"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        retrieved = {passage.id: passage for passage in evidence.passages}
        cited = {citation.n: retrieved.get(citation.passage.id) for citation in draft.citations}
        everywhere: list[Passage | None] = [*evidence.passages] if self.uncited else []
        return [
            self._judge(claim, everywhere or [cited.get(n) for n in claim.cites])
            for claim in draft.claims
        ]

    def _judge(self, claim: Claim, passages: list[Passage | None]) -> Finding:
        for passage in passages:
            span = _quoted(bare(claim.text), passage.text) if passage else None
            span = span or (_quoted(claim.text, passage.text) if passage else None)
            if passage and span:
                return Finding(claim, self.name, Support.BACKED, 1.0, passage.id, span)
        reason = "not a quotation of a passage it cites"
        return Finding(claim, self.name, Support.UNCHECKED, reason=reason)


def _quoted(said: str, text: str) -> Span | None:
    """Where the text holds this, from the start of a sentence to the end of one."""
    spans = sentences(text)
    ends = {end for _, end in spans}
    for first, last in spans:
        mark = ANSWER_MARK.match(text, first, last)
        for start in {first, mark.end() if mark else first}:
            if said and text.startswith(said, start) and start + len(said) in ends:
                return start, start + len(said)
    return None
