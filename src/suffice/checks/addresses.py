"""Checks that an answer addresses the question: the verifier reads it as if it were the
evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.models.llm.verifier import below_llm
from suffice.models.verifier import Pair, Verifier
from suffice.text.marks import bare
from suffice.text.several import several
from suffice.types import Code, Draft, Evidence, Finding, Rescue, Support

LEAST = 0.10
"""Of 200 correct answers in `written` dev 10 % score below this, and 91 % of the answers to other
questions. At .25 it is 24 % and 98 %: too many right answers are short and lean on their question.
"""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Flags a draft that does not address the question, however well it is backed. It does not
    judge correctness. Extractive drafts are skipped: their quotations were selected for the
    question."""

    verifier: Verifier
    least: float = LEAST
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
        pairs = [Pair(question, (bare(draft.text),)) for question in asked]
        scores = below_llm(self.verifier).sufficiency(pairs)
        if unchecked := scores[0].unchecked:
            return self._findings(draft, reason=unchecked)
        best = max(score.enough for score in scores)
        left = [q for q, score in zip(asked, scores, strict=True) if score.enough < self.least]
        if best < self.least:
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
    """The reason that lists the unanswered ones of several questions."""
    named = (one.strip(" ?") for one in questions)
    return f"Not answered: {'; '.join(f'“{one}”' for one in named)}"
