"""Does an answer speak of all that was asked? It is read as if it were all the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.models.llm.verifier import below_llm
from suffice.models.verifier import Pair, Verifier
from suffice.text.marks import bare
from suffice.text.several import several
from suffice.types import Code, Draft, Evidence, Finding, Rescue, Support

LEAST = 0.25
"""Of 76 drafts on real documents one is below this, and that one is wrong; of the same drafts under
other questions, 95 %."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Notes a draft that is beside the question, however well it is backed. Says nothing of whether
    it is right. Quotations were chosen for the question, and are left alone."""

    verifier: Verifier
    least: float = LEAST
    name: str = "addresses"

    def judge(self, draft: Draft, evidence: Evidence) -> list[Finding]:
        if not evidence.question or not draft.claims:
            return self._findings(draft, reason="there is no question to hold it against")
        if draft.drafter == Rescue.EXTRACTIVE:
            if draft.unanswered:
                said = not_answered(draft.unanswered)
                return self._findings(draft, reason=said, code=Code.UNANSWERED)
            return self._findings(draft, reason="it was chosen by how well it answers")
        asked = several(evidence.wanted)
        pairs = [Pair(question, (bare(draft.text),)) for question in asked]
        scores = below_llm(self.verifier).sufficiency(pairs)
        if unchecked := scores[0].unchecked:
            return self._findings(draft, reason=unchecked)
        best = max(score.enough for score in scores)
        left = [q for q, score in zip(asked, scores, strict=True) if score.enough < self.least]
        if best < self.least:
            said = f"the answer is beside the question ({best:.2f})"
            return self._findings(draft, best, said, Code.BESIDE)
        if left:
            return self._findings(draft, best, not_answered(left), Code.UNANSWERED)
        return self._findings(draft, best, f"the answer is to the question ({best:.2f})")

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
    """What is told of those of several questions that have no answer."""
    named = (one.strip(" ?") for one in questions)
    return f"Not answered: {'; '.join(f'“{one}”' for one in named)}"
