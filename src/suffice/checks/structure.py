"""Checks the form of a draft without the evidence: is it an answer, does it cite sources, is it
complete, and does it admit to relying on the model's own knowledge?
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from suffice.checks.claim_text import without_gaps
from suffice.deadline import watched
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import below_llm
from suffice.models.verifier import Pair, Verifier, log_odds
from suffice.text.claims import Statement, StatementKind, claims
from suffice.text.marks import bare, citations
from suffice.text.question import several, with_subject
from suffice.types import Claim, Code, Draft, Evidence, Finding, Hallucination, Rescue, Support

_OPEN_MARK = re.compile(
    r"[\[【［(]\s*(?:\^?\d[\d\s,;–-]*|(?:source|passage|document)s?\s*\d*)?$", re.I
)
_FENCE = re.compile(r"(?m)^[ \t]*(?:```|~~~)")
_UNIT = re.compile(r"[ \t]*(?:[-*+•]\s|\d{1,3}[.)]\s|#{1,6}\s|\*\*)")
_ENDS = tuple(".!?…。！？)]}\"'”’»*_`>")
_BREAKS = tuple(",;:(-–—/&+=")
_TERMINAL = re.compile(r"[.!?…。！？][\"'”’)\]*_]*(?:\s|$)")
# No sentence ends with one of these words.
_DANGLING = re.compile(
    r"\b(?:the|an?|and|or|but|nor|of|to|from|with|without|by|for|at|in|on|into|than|that|which|who|"
    r"whose|because|if|unless|although|while|when|where|is|are|was|were|be|been|has|have|had|will|"
    r"would|can|could|may|might|must|should|their|its|his|her|your|our|my|least|between|per|as|"
    r"about|approximately|such|e\.g|i\.e)$",
    re.IGNORECASE,
)
_TAIL = 2_000
_LINE = 8


def cut_off(text: str) -> bool:
    """Whether the end of a text is missing. A missing full stop alone is not enough."""
    stripped = text.rstrip()
    if not stripped:
        return False
    if len(_FENCE.findall(stripped)) % 2:
        return True
    tail = stripped[-_TAIL:]
    if _OPEN_MARK.search(tail):
        return True
    marks = citations(tail)
    if marks and marks[-1][0][1] == len(tail):
        return False  # a citation ends a complete sentence
    line = tail[tail.rfind("\n") + 1 :]
    if line.lstrip().startswith("|"):
        return not line.endswith("|")
    if tail.endswith(_BREAKS) or _DANGLING.search(tail) or line.count("(") > line.count(")"):
        return True
    if tail.endswith(_ENDS) or _UNIT.match(line) or _is_address(line.split()[-1]):
        return False
    # The last sentence has no full stop although others do. In a short line this is normal.
    before = line if len(line.split()) < _LINE else stripped
    return bool(_TERMINAL.search(before))


def _is_address(word: str) -> bool:
    return "@" in word[:-1] or "/" in word[:-1]


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
    read = claims(text)
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
        read = {(one.start, one.end): one for one in claims(draft.text)}
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


LEAST = -0.65
LEAST_OF_SEVERAL = 1.4
"""A draft's score is the log-odds that it answers the question, as judged by the verifier, plus
`_SIMILARITY` times its cosine with the question. Below the first limit, the draft does not address
the question. Below the second, one of several questions counts as unanswered, which only adds a
caveat. Of 297 correct answers in `written` dev, 2 % are below the first limit and 10 % below the
second. For answers to questions about other documents, it is 93 % and 100 %; for answers to other
questions about the same document, 37 % and 68 %. With the verifier alone, also at 2 % of correct
answers, the first limit finds 59 % and 27 %, because short answers do not repeat their question."""
_SIMILARITY = 10.0


@dataclass(frozen=True, slots=True)
class Addresses:
    """Flags a draft that does not address the question, however well it is backed. It does not
    judge correctness. Extractive drafts are skipped, because their quotations were selected for the
    question."""

    verifier: Verifier
    embedder: Embedder
    name: str = "addresses"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        if not evidence.question or not draft.claims:
            return self._findings(draft, reason="there is no question to compare with")
        if draft.drafter == Rescue.EXTRACTIVE:
            if draft.unanswered:
                reason = not_answered(draft.unanswered)
                return self._findings(draft, reason=reason, code=Code.UNANSWERED)
            return self._findings(draft, reason="the quotations were selected for the question")
        asked = several(evidence.wanted)
        text = without_gaps(draft.text)
        pairs = [Pair(question, (text,)) for question in with_subject(asked)]
        scores = below_llm(self.verifier).sufficiency(pairs)
        if unchecked := scores[0].unchecked:
            return self._findings(draft, reason=unchecked)
        best = max(score.enough for score in scores)
        said, *wanted = self.embedder.embed([text, *asked])
        near = [
            log_odds(score.enough) + _SIMILARITY * float(vector @ said)
            for score, vector in zip(scores, wanted, strict=True)
        ]
        several_asked = zip(asked, near, strict=True) if len(asked) > 1 else ()
        left = [question for question, found in several_asked if found < LEAST_OF_SEVERAL]
        if max(near) < LEAST:
            reason = f"the answer does not address the question ({best:.2f})"
            return self._findings(draft, best, reason, Code.BESIDE)
        if left:
            return self._findings(draft, best, not_answered(left), Code.UNANSWERED)
        return self._findings(draft, best, f"the answer addresses the question ({best:.2f})")

    def _findings(
        self,
        draft: Draft,
        score: float | None = None,
        reason: str = "",
        code: Code | None = None,
    ) -> list[Finding]:
        return [
            Finding(claim, self.name, Support.UNCHECKED, score, reason=reason, code=code)
            for claim in draft.claims
        ]


def not_answered(questions: Sequence[str]) -> str:
    """A reason that lists the questions left unanswered."""
    named = (one.strip(" ?") for one in questions)
    return f"Not answered: {'; '.join(f'“{one}”' for one in named)}"
