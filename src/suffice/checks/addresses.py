"""Does an answer speak of what was asked? It is read as if it were all the evidence there is."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.models.llm.verifier import below_llm
from suffice.models.verifier import Pair, Verifier
from suffice.text.marks import bare
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
            return self._findings(draft, reason="it was chosen by how well it answers")
        pair = Pair(evidence.wanted, (bare(draft.text),))
        (score,) = below_llm(self.verifier).sufficiency([pair])
        if score.unchecked:
            return self._findings(draft, reason=score.unchecked)
        beside = score.enough < self.least
        said = "the answer is beside the question" if beside else "the answer is to the question"
        code = Code.BESIDE if beside else None
        return self._findings(draft, score.enough, f"{said} ({score.enough:.2f})", code)

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
