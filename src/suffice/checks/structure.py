"""Checks the form of a draft without the evidence: is it an answer, does it cite sources, is it
complete, and does it admit to relying on the model's own knowledge?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from suffice.checks.claim_text import statements
from suffice.deadline import watched
from suffice.text.claims import Statement, StatementKind
from suffice.text.cutoff import cut_off
from suffice.text.marks import bare
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Support

# First person only: documents may discuss models and their training data.
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
    """The form of a draft. `abstains` means that it declines without a claim, which is no
    failure."""

    abstains: bool
    words: int
    marks: bool
    complete: bool
    from_memory: bool


def shape(text: str) -> Shape:
    """The form of a text, with or without claims."""
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
    """Marks a claim UNBACKED if it says it comes from the model's own knowledge, if it is cut off,
    or if the whole draft has no citations. Otherwise the claim is UNCHECKED, because this check
    reads no evidence.

    `uncited` means that citations are not expected, as in answers written elsewhere.
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
            for claim in watched(draft.claims)
        ]

    def _judge(self, claim: Claim, read: Statement | None, seen: Shape, broken: bool) -> Finding:
        if read and read.kind is StatementKind.REFUSAL:
            return self._note(claim, Code.ABSTAINED, "it declines to answer and makes no claim")
        if _from_memory(bare(claim.text)):
            reason = "the claim says that it does not come from the documents"
            return self._against(claim, Code.TRAINING, Hallucination.FACTUALITY, reason)
        if seen.from_memory and not claim.cites:
            reason = "no citation, in a draft that relies on the model's own knowledge"
            return self._against(claim, Code.TRAINING, Hallucination.FACTUALITY, reason)
        if broken:
            reason = "the draft is cut off in this claim"
            return self._against(claim, Code.CUT_OFF, Hallucination.OMISSION, reason)
        if not claim.cites and not self.uncited:
            return self._uncited(claim, seen)
        if seen.words < self.shortest:
            return self._note(claim, Code.SHORT, f"the whole draft has {seen.words} words")
        return self._note(claim, Code.CLEAR, "no structural problem")

    def _uncited(self, claim: Claim, seen: Shape) -> Finding:
        if seen.marks:
            return self._note(claim, Code.UNCITED, "no citation, although others have one")
        reason = "the draft has no citations"
        return self._against(claim, Code.UNCITED, Hallucination.ATTRIBUTION, reason)

    def _note(self, claim: Claim, code: Code, reason: str) -> Finding:
        return Finding(claim, self.name, Support.UNCHECKED, reason=reason, code=code)

    def _against(self, claim: Claim, code: Code, kind: Hallucination, reason: str) -> Finding:
        return Finding(claim, self.name, Support.UNBACKED, reason=reason, code=code, kind=kind)


def _from_memory(words: str) -> bool:
    return bool(_FROM_MEMORY.search(words.replace("’", "'")))


def _ends(text: str, claim: Claim) -> bool:
    """Whether only white space, or at most the start of a citation, follows a claim."""
    return not re.search(r"\w{2}", text[claim.end :])
