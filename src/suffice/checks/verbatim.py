"""Backs a claim that quotes a cited passage verbatim. Other claims stay unchecked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.checks.aligned import roots
from suffice.checks.claim_text import statements, with_metadata
from suffice.checks.quotes import Quotable, Quote, heads
from suffice.deadline import watched
from suffice.text.claims import Statement
from suffice.text.marks import bare
from suffice.text.nonclaims import nonclaim
from suffice.text.sentences import sentences
from suffice.types import Claim, Draft, Evidence, Finding, Passage, Support

_OTHER_PLACE = "quoted without the context it depends on: “{}”"
_SAME_QUESTION = 0.6
"""Two questions are the same if the user's contains this share of the words of the source's."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The cheapest check, which accepts whole sentences of a passage in the evidence.

    Part of a sentence is not a quotation: "employees may carry over leave" from "No employees may
    carry over leave" says the opposite. A sentence must also keep its meaning: it is not accepted
    if its context in the source is missing, or if the text before it in the draft changes it.
    """

    uncited: bool = False
    """Whether citations are not expected, so that a claim may quote any passage."""
    name: str = "verbatim"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        library = {passage.id: Quotable(passage) for passage in evidence.passages}
        cited = {citation.n: library.get(citation.passage.id) for citation in draft.citations}
        everywhere = [*library.values()] if self.uncited else []
        page = _Page.of(draft, evidence.question)
        return [
            self._judge(claim, everywhere or [cited.get(n) for n in claim.cites], page)
            for claim in watched(draft.claims)
        ]

    def _judge(self, claim: Claim, sources: Sequence[Quotable | None], page: _Page) -> Finding:
        reason = "not a verbatim quotation of a cited passage"
        for source in sources:
            for text in dict.fromkeys((bare(claim.text), claim.text)) if source else ():
                for quote in source.find(text) if source else ():
                    if source and page.keeps(claim, quote, source.passage):
                        return Finding(
                            claim, self.name, Support.BACKED, 1.0, source.passage.id, quote.span
                        )
                    reason = _OTHER_PLACE.format(quote.needs or quote.asked or quote.head)
        return Finding(claim, self.name, Support.UNCHECKED, reason=reason)


@dataclass(frozen=True, slots=True)
class _Page:
    """A draft as the reader sees it: the text before each claim."""

    question: str
    read: dict[int, Statement]
    before: dict[int, str]
    heads: dict[int, str]

    @classmethod
    def of(cls, draft: Draft, question: str) -> _Page:
        read = statements(draft.text)
        words = ["", *(one.words for one in read)]
        return cls(
            question,
            {one.start: one for one in read},
            {one.start: text for one, text in zip(read, words, strict=False)},
            heads(draft.text, sentences(draft.text)) if "|" in draft.text else {},
        )

    def keeps(self, claim: Claim, quote: Quote, passage: Passage) -> bool:
        """Whether a quotation has the same context as in its source."""
        if quote.head:
            return self.heads.get(claim.start, quote.head) == quote.head
        own = self._lead(claim)
        if quote.needs:
            return quote.needs in (own, self.before.get(claim.start, ""))
        if quote.asked:
            return self._asked(claim, quote.asked)
        return not own or nonclaim(own) is not None or roots(own) <= self._roots_in_context(passage)

    def _lead(self, claim: Claim) -> str:
        """The line that introduces the list a claim belongs to."""
        one = self.read.get(claim.start)
        return one.context if one else ""

    def _asked(self, claim: Claim, asked: str) -> bool:
        wanted = roots(asked)
        shown = self.before.get(claim.start, "") == asked
        return shown or len(wanted & roots(self.question)) >= _SAME_QUESTION * max(1, len(wanted))

    def _roots_in_context(self, passage: Passage) -> frozenset[str]:
        return roots(with_metadata(passage)) | roots(self.question)
