"""What can be seen of a draft without reading the evidence: is it an answer at all, does it cite,
does it end, does it say itself that it speaks from memory?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from suffice.checks.claim_text import statements
from suffice.text.claims import Statement, StatementKind
from suffice.text.cutoff import cut_off
from suffice.text.marks import bare
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Support

# In the first person on purpose: documents may speak of models and their training data.
_FROM_MEMORY = re.compile(
    r"""\bas\s(?:an\s(?:ai|artificial\sintelligence)|a\s(?:large\s)?language\smodel)\b
    | \bmy\s(?:last\s|own\s|general\s|internal\s)?(?:training|knowledge)\b
    | \bas\sof\smy\slast\s(?:update|training|knowledge)\b
    | \bi\swas\s(?:last\s)?trained\b
    | \bi\s(?:do\snot|don't|cannot|can't|can\snot|am\sunable\sto)\s(?:currently\s|actually\s)?
        (?:have\s(?:\w+[\s-]){0,2}access|access|browse)\b
    | \b(?:based\son|from)\s(?:general|common|publicly\savailable)\sknowledge\b
    | \b(?:outside|beyond)\s(?:of\s)?the\s(?:provided|given|retrieved)\s(?:context|documents?|
        passages?|sources?|information)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """A draft at a glance. `abstains`: it declines and claims nothing, which is no failure."""

    abstains: bool
    words: int
    marks: bool
    complete: bool
    from_memory: bool


def shape(text: str) -> Shape:
    """The shape of a draft, also of one that holds no claim."""
    read = statements(text)
    kinds = {one.kind for one in read}
    return Shape(
        abstains=StatementKind.REFUSAL in kinds and StatementKind.CLAIM not in kinds,
        words=len(bare(text).split()),
        marks=any(one.cites for one in read),
        complete=not cut_off(text),
        from_memory=any(_from_memory(one.words) for one in read),
    )


@dataclass(frozen=True, slots=True)
class Structure:
    """Speaks against claims that say they come from memory, that break off, and all of a draft that
    cites nothing. Where it has no objection it says nothing: it has not read the evidence.

    `uncited`: marks are not expected, as in answers that others wrote.
    """

    shortest: int = 3
    uncited: bool = False
    name: str = "structure"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        seen = shape(draft.text)
        read = {(one.start, one.end): one for one in statements(draft.text)}
        last = max(draft.claims, key=lambda claim: claim.end, default=None)
        broken = last if last and not seen.complete and _ends(draft.text, last) else None
        return [
            self._judge(claim, read.get((claim.start, claim.end)), seen, claim == broken)
            for claim in draft.claims
        ]

    def _judge(self, claim: Claim, read: Statement | None, seen: Shape, broken: bool) -> Finding:
        if read and read.kind is StatementKind.REFUSAL:
            return self._note(claim, Code.ABSTAINED, "it declines, and claims nothing")
        if _from_memory(bare(claim.text)):
            reason = "it says itself that it does not speak from the documents"
            return self._against(claim, Code.TRAINING, Hallucination.FACTUALITY, reason)
        if seen.from_memory and not claim.cites:
            reason = "it cites nothing in a draft that says it speaks from memory"
            return self._against(claim, Code.TRAINING, Hallucination.FACTUALITY, reason)
        if broken:
            reason = "the draft breaks off in it"
            return self._against(claim, Code.CUT_OFF, Hallucination.OMISSION, reason)
        if not claim.cites and not self.uncited:
            return self._uncited(claim, seen)
        if seen.words < self.shortest:
            return self._note(claim, Code.SHORT, f"the whole draft is of {seen.words} words")
        return self._note(claim, Code.CLEAR, "nothing in its form speaks against it")

    def _uncited(self, claim: Claim, seen: Shape) -> Finding:
        if seen.marks:
            return self._note(claim, Code.UNCITED, "it cites nothing, though others do")
        reason = "the draft cites nothing"
        return self._against(claim, Code.UNCITED, Hallucination.ATTRIBUTION, reason)

    def _note(self, claim: Claim, code: Code, reason: str) -> Finding:
        return Finding(claim, self.name, Support.UNCHECKED, reason=reason, code=code)

    def _against(self, claim: Claim, code: Code, kind: Hallucination, reason: str) -> Finding:
        return Finding(claim, self.name, Support.UNBACKED, reason=reason, code=code, kind=kind)


def _from_memory(words: str) -> bool:
    return bool(_FROM_MEMORY.search(words.replace("’", "'")))


def _ends(text: str, claim: Claim) -> bool:
    """Whether nothing but white space and the beginning of a mark follows a claim."""
    return not re.search(r"\w{2}", text[claim.end :])
