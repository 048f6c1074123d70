"""Builds the cases for the judge: a claim with its context, the cited passages and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from suffice.checks.claim_text import numbered, with_metadata
from suffice.checks.judge.prompt import Case, Numbered, dictates
from suffice.types import Draft, Evidence, Passage

_AROUND = 2_000


@dataclass(frozen=True, slots=True)
class CaseFile:
    """The cases of a draft. `room` is the maximum number of characters per case."""

    draft: Draft
    question: str
    room: int
    marked: Mapping[int, Passage]
    """Retrieved passages by citation number."""
    others: tuple[Numbered, ...]
    """All passages except those with instructions, which are shown only if a claim cites them."""

    @classmethod
    def of(cls, draft: Draft, evidence: Evidence, room: int) -> CaseFile:
        hand = {passage.id: passage for passage in evidence.passages}
        marks = numbered(draft, evidence).items()
        marked = {n: hand[passage.id] for n, passage in marks if passage.id in hand}
        numbers = {passage.id: n for n, passage in marked.items()}
        clean = (passage for passage in hand.values() if not dictates(with_metadata(passage)))
        others = tuple(Numbered(passage, numbers.get(passage.id)) for passage in clean)
        return cls(draft, evidence.question, room, marked, others)

    def case(self, place: int) -> Case:
        """A claim with all the passages it cites and as many others as fit. A claim without
        citations gets all passages."""
        claim = self.draft.claims[place]
        cited = [Numbered(self.marked[n], n) for n in claim.cites if n in self.marked]
        known = {one.passage.id for one in cited}
        others = [one for one in self.others if one.passage.id not in known]
        case = Case(claim.text, claim.cites, self._around(place), self.question, tuple(cited))
        if not claim.cites:
            return case.beside(others)
        for one in others:
            more = case.beside([one])
            case = more if more.size <= self.room else case
        return case

    def _around(self, place: int) -> str:
        """The draft from the previous claim to the next claim."""
        near = self.draft.claims[max(0, place - 1) : place + 2]
        claim = self.draft.claims[place]
        start, end = min(one.start for one in near), max(one.end for one in near)
        around = self.draft.text[start:end]
        fits = claim.text in around and len(around) <= len(claim.text) + _AROUND
        return around if fits and around != claim.text else ""
