"""The main path, on one page:

    question ─▶ evidence ─▶ gate ─▶ draft ─▶ checks ─▶ verdict

No answer leaves without a verdict; if the gate is shut, nothing is drafted. A drafter may be given
less of the evidence to read; gate and checks always have all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suffice.checks.check import Check, run_checks
from suffice.checks.verbatim import Verbatim
from suffice.draft.drafter import Drafter
from suffice.draft.extractive import Extractive
from suffice.errors import QuestionError
from suffice.evidence.filter import Helpful
from suffice.evidence.search import Retriever, gather
from suffice.gate.policy import Policy, open_policy
from suffice.models.embedder import Embedder
from suffice.models.remembering import Remembering
from suffice.settings import CollectionSettings
from suffice.types import Evidence, GateDecision, Level, Verdict
from suffice.verdict import wording
from suffice.verdict.decide import decide, withhold

LONGEST_QUESTION = 8_000


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Question in, verdict out. Each part can be replaced by anything that keeps its protocol."""

    retriever: Retriever
    gate: Policy
    drafter: Drafter
    checks: Sequence[Check] = (Verbatim(),)
    embedder: Embedder | None = None
    """Only for retrievers that give no relevance of their own."""
    decline_insufficient: bool = True
    """False: a draft is written from evidence that is not enough, and leaves with a caveat."""
    filter: Callable[[Evidence], Evidence] | None = None
    """Marks what of the evidence a drafter reads; without it, all."""

    @classmethod
    def of(
        cls, retriever: Retriever, embedder: Embedder, settings: CollectionSettings | None = None
    ) -> Pipeline:
        """The pipeline that settings describe, over any retriever."""
        settings = settings or CollectionSettings()
        embedder = Remembering(embedder)  # filter and drafter read the same statements
        drafter = Extractive(embedder, settings.draft)
        helpful = Helpful(embedder, settings.filter) if settings.filter.on else None
        gate = settings.gate
        return cls(
            retriever,
            open_policy(gate),
            drafter,
            embedder=embedder,
            decline_insufficient=gate.policy != "coverage" or gate.coverage.decline_insufficient,
            filter=helpful,
        )

    def answer(self, question: str) -> Verdict:
        evidence = self.find(question)
        gate = self.gate.decide(evidence)
        if not self._may_draft(evidence, gate):
            return withhold(evidence, gate, wording.shut(gate, len(evidence)))
        evidence = self.filter(evidence) if self.filter else evidence
        draft = self.drafter.write(evidence)
        findings = run_checks(self.checks, draft, evidence)
        return decide(evidence, gate, draft, findings)

    def _may_draft(self, evidence: Evidence, gate: GateDecision) -> bool:
        thin = gate.level is Level.INSUFFICIENT and len(evidence) > 0
        return gate.open or (thin and not self.decline_insufficient)

    def find(self, question: str) -> Evidence:
        asked = checked_question(question)
        return gather(asked, self.retriever(asked), self.embedder)


def checked_question(question: str) -> str:
    """The question as it is asked, or a clear word on why it cannot be."""
    asked = question.strip()
    try:
        asked.encode()
    except UnicodeEncodeError:
        raise QuestionError("The question is not valid text.", remedy="Send it as UTF-8.") from None
    if not asked:
        raise QuestionError("The question is empty.", remedy="Ask something in words.")
    if len(asked) > LONGEST_QUESTION:
        raise QuestionError(
            f"The question has {len(asked):,} characters, over the limit of {LONGEST_QUESTION:,}.",
            remedy="Ask a shorter question; put long material among the documents.",
        )
    return asked
