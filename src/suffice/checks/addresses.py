"""Checks that an answer addresses the question: the verifier reads the answer as evidence, and the
embedder compares it with the question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from suffice.checks.claim_text import without_gaps
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import below_llm
from suffice.models.odds import log_odds
from suffice.models.verifier import Pair, Verifier
from suffice.text.several import several, with_subject
from suffice.types import Code, Draft, Evidence, Finding, Rescue, Support

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
