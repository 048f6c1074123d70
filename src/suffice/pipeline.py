"""The main path, on one page:

    question ─▶ evidence ─▶ gate ─▶ draft ─▶ checks ─▶ verdict

No answer leaves without a verdict; if the gate is shut, nothing is drafted. Before it refuses, it
searches once more in other words. A drafter may be given less of the evidence to read; gate and
checks always have all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from suffice.checks.check import Check, run_checks
from suffice.checks.verbatim import Verbatim
from suffice.draft.drafter import Drafter
from suffice.draft.extractive import Extractive
from suffice.errors import QuestionError
from suffice.evidence.filter import Helpful
from suffice.evidence.find import find_again, looking, time_of
from suffice.evidence.index import today
from suffice.evidence.rewrite import rewritten
from suffice.evidence.search import Retriever, gather
from suffice.gate.gate import Gate, Weighed
from suffice.models.embedder import Embedder
from suffice.models.remembering import Remembering
from suffice.models.verifier import Verifier
from suffice.settings import CollectionSettings
from suffice.types import Evidence, Level, Verdict
from suffice.verdict.decide import decide, disagree, shut

LONGEST_QUESTION = 8_000


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Question in, verdict out. Each part can be replaced by anything that keeps its protocol."""

    retriever: Retriever
    gate: Gate
    drafter: Drafter
    checks: Sequence[Check] = (Verbatim(),)
    embedder: Embedder | None = None
    """Only for retrievers that give no relevance of their own."""
    filter: Callable[[Evidence], Evidence] | None = None
    """Marks what of the evidence a drafter reads; without it, all."""
    rewrite: bool = True
    clock: Callable[[], date] = today

    @classmethod
    def of(
        cls,
        retriever: Retriever,
        embedder: Embedder,
        settings: CollectionSettings | None = None,
        verifier: Verifier | None = None,
    ) -> Pipeline:
        """The pipeline that settings describe, over any retriever."""
        settings = settings or CollectionSettings()
        embedder = Remembering(embedder)  # filter and drafter read the same statements
        return cls(
            retriever,
            Gate.of(settings, embedder, verifier),
            Extractive(embedder, settings.draft),
            embedder=embedder,
            filter=Helpful(embedder, settings.filter) if settings.filter.on else None,
            rewrite=settings.rewrites,
        )

    def answer(self, question: str) -> Verdict:
        evidence, gate = self.find(checked_question(question))
        if gate.level is Level.CONFLICT:
            return disagree(evidence, gate)
        if not self.gate.may_draft(evidence, gate):
            return shut(evidence, gate)
        evidence = self.filter(evidence) if self.filter else evidence
        draft = self.drafter.write(evidence)
        findings = run_checks(self.checks, draft, evidence)
        return decide(evidence, gate, draft, findings)

    def find(self, question: str) -> Weighed:
        """The evidence of the time asked about, and what the gate says of it."""
        day = self.clock()
        when = time_of(question, self.retriever, day)
        retriever = looking(self.retriever, when, day)
        found = gather(question, retriever(question), self.embedder)
        weighed = self.gate.weigh(found, when, day)
        if self.rewrite and weighed.decision.level in (Level.INSUFFICIENT, Level.REVIEW):
            queries = rewritten(question, self.gate.explain.synonyms)
            found = find_again(retriever, found, queries, self.embedder)
            weighed = self.gate.weigh(found, when, day)
        return weighed


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
