"""The main path, on one page:

    question ─▶ evidence ─▶ gate ─▶ draft ─▶ checks ─▶ verdict

No answer leaves without a verdict; if the gate is shut, nothing is drafted. Before it refuses, it
searches once more in other words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date

from suffice.checks.check import Check, run_checks
from suffice.checks.verbatim import Verbatim
from suffice.draft.drafter import Drafter
from suffice.draft.extractive import Extractive
from suffice.errors import QuestionError
from suffice.evidence.find import find_again, looking, time_of
from suffice.evidence.index import today
from suffice.evidence.rewrite import rewritten
from suffice.evidence.search import Retriever, gather
from suffice.gate.explain import Explain
from suffice.gate.freshness import fresh
from suffice.gate.policy import Policy, open_policy
from suffice.models.embedder import Embedder
from suffice.settings import CollectionSettings
from suffice.text.synonyms import Synonyms
from suffice.types import Evidence, GateDecision, Verdict
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
    explain: Explain = field(default_factory=Explain)
    rewrite: bool = True
    clock: Callable[[], date] = today

    @classmethod
    def of(
        cls, retriever: Retriever, embedder: Embedder, settings: CollectionSettings | None = None
    ) -> Pipeline:
        """The pipeline that settings describe, over any retriever."""
        settings = settings or CollectionSettings()
        synonyms = Synonyms.read(settings.search.synonyms)
        return cls(
            retriever,
            open_policy(settings.gate),
            Extractive(embedder, settings.draft),
            embedder=embedder,
            explain=Explain(embedder, synonyms, settings.gate.contact),
            rewrite=settings.search.rewrite,
        )

    def answer(self, question: str) -> Verdict:
        evidence, gate = self.find(checked_question(question))
        if not gate.open:
            return withhold(evidence, gate, wording.shut(gate, len(evidence)))
        draft = self.drafter.write(evidence)
        findings = run_checks(self.checks, draft, evidence)
        return decide(evidence, gate, draft, findings)

    def find(self, question: str) -> tuple[Evidence, GateDecision]:
        """The evidence of the time asked about, and whether it is enough."""
        day = self.clock()
        when = time_of(question, self.retriever, day)
        retriever = looking(self.retriever, when, day)
        found = gather(question, retriever(question), self.embedder)
        evidence, excluded, _ = fresh(found, when, day)
        gate = self.gate.decide(evidence)
        if self.rewrite and not gate.open:
            queries = rewritten(question, self.explain.synonyms)
            found = find_again(retriever, found, queries, self.embedder)
            evidence, excluded, _ = fresh(found, when, day)
            gate = self.gate.decide(evidence)
        return evidence, self.explain(gate, evidence, excluded)


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
