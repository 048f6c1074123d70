"""Checks that an answer addresses the question: the verifier reads it as if it were the evidence,
and the embedder compares it with the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import below_llm
from suffice.models.odds import log_odds
from suffice.models.verifier import Pair, Verifier
from suffice.text.marks import bare
from suffice.text.several import several
from suffice.types import Code, Draft, Evidence, Finding, Rescue, Support

LEAST = -0.65
LEAST_OF_SEVERAL = 1.4
"""Log-odds that the verifier finds an answer, plus `_SIMILARITY` times the cosine of question and
draft. Below the first, a draft does not address its question; below the second, one of several
questions is called unanswered, which costs a caveat only. Of 297 right answers of `written` dev 2 %
lie below the first and 10 % below the second, of the answers to questions on other documents 93 %
and 100 %, of those to other questions on the same document 37 % and 68 %. With the verifier alone,
2 % of the right answers cost all but 59 % and 27 %: short answers lean on their question."""
_SIMILARITY = 10.0


@dataclass(frozen=True, slots=True)
class Addresses:
    """Flags a draft that does not address the question, however well it is backed. It does not
    judge correctness. Extractive drafts are skipped: their quotations were selected for the
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
        text = bare(draft.text)
        scores = below_llm(self.verifier).sufficiency([Pair(one, (text,)) for one in asked])
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
    """The reason that lists the unanswered ones of several questions."""
    named = (one.strip(" ?") for one in questions)
    return f"Not answered: {'; '.join(f'“{one}”' for one in named)}"
