"""The main path:

    question → evidence → gate → draft → checks → verdict → record

No answer is released without a verdict. Nothing is drafted while the gate is closed, unless a
person overrides it or the published block `sufficient_context:` asks for a draft anyway; such
drafts get a caveat at best. If an LLM drafts and the search is not sure of its result, the LLM is
asked for more search queries (`search.rewrite`). A filter may mark what a drafter reads; it drops
no passage, so the gate and the checks always receive all of the evidence. A draft that cannot be
released is revised; then its citations are corrected; then it is trimmed to its backed claims. If
none of these can be released, the answer is withheld. A releasable draft with weak claims is
trimmed too, if the rest can be released. Quotations replace a draft only where the LLM failed: it
gave no reply, or its reply was cut off or unreadable. They never replace what it declined to
answer, nor what the checks withheld.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING

from suffice.checks.check import Check
from suffice.checks.findings import judged
from suffice.checks.verbatim import Verbatim
from suffice.deadline import within
from suffice.draft.drafter import Drafter
from suffice.draft.reading import Brief, as_shown
from suffice.draft.revision import Round, revise
from suffice.errors import ModelError
from suffice.evidence.index import Retriever, today
from suffice.evidence.retrieve import Rewriter, find, retriever_at, time_of
from suffice.evidence.sanitize import READER, InstructionReader, examined, flag_notes
from suffice.gate.freshness import fresh
from suffice.gate.gate import Gate, GateResult
from suffice.log.trace import Timings, Trace
from suffice.models.embedder import Embedder
from suffice.models.llm.client import Meter, metered
from suffice.settings import DraftSettings, VerdictSettings
from suffice.text.question import checked_question, unnamed
from suffice.text.when import When
from suffice.types import Attempt, Draft, Evidence, Finding, GateDecision, Level, Rescue, Verdict
from suffice.verdict import wording
from suffice.verdict.assess import Assessment, assess
from suffice.verdict.decide import (
    assessed,
    decide,
    disagree,
    overridden,
    refused_by_gate,
    route_text,
    served_answers,
    unwritten,
)
from suffice.verdict.gap import request_document
from suffice.verdict.rescue import failed, reattributed, rescued, trimmed
from suffice.verdict.route import read_routes

if TYPE_CHECKING:
    from suffice.log.log import RecordSink


@dataclass(frozen=True, slots=True)
class GatedQuestion:
    """One question in progress: the evidence with the gate decision, how the evidence was found,
    the evidence with the drafter's parts marked, and the time taken so far."""

    gated: GateResult
    trace: Trace
    read: Evidence
    timings: Timings
    verifying: Meter = field(default_factory=Meter, compare=False)
    """The calls to an LLM that verifies the drafts."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Turns a question into a verdict. Each part can be replaced by any implementation of its
    protocol."""

    retriever: Retriever
    gate: Gate
    drafter: Drafter
    checks: Sequence[Check] = (Verbatim(),)
    embedder: Embedder | None = None
    """Computes relevance scores for retrievers that return none."""
    filter: Callable[[Evidence], Evidence] | None = None
    """Marks the parts of the evidence that a drafter reads, without dropping passages; `None`:
    all."""
    quotes: Drafter | None = None
    """Quotes the evidence if the drafter failed."""
    draft_settings: DraftSettings = field(default_factory=lambda: DraftSettings(revisions=0))
    verdict_settings: VerdictSettings = field(default_factory=VerdictSettings)
    rewriter: Rewriter | None = None
    """Asked for more search queries if the search is not sure of its result; `None`: never."""
    subject: str = ""
    """What the documents are about; search and gate read it with a question that lacks it."""
    record: RecordSink | None = None
    """Records every decision before it is returned."""
    reader: InstructionReader = READER
    """Finds instructions to the model in the answers of earlier turns."""
    clock: Callable[[], date] = today

    def answer(self, question: str, earlier: Sequence[Verdict] = ()) -> Verdict:
        """Answer a question. `earlier` holds the verdicts of this conversation's previous turns. Of
        these, only text served without a caveat counts as evidence for the checks."""
        turn = self.begin(question, earlier)
        return self.record_verdict(turn, self.refusal(turn) or self._answer(turn))

    async def aanswer(self, question: str, earlier: Sequence[Verdict] = ()) -> Verdict:
        """`answer` without blocking the event loop."""
        return await asyncio.to_thread(self.answer, question, earlier)

    def retrieve_and_gate(self, question: str) -> GateResult:
        """The evidence for the time asked about, with the recorded gate decision. Nothing is
        drafted."""
        timings = Timings()
        gated, trace = self._search_and_gate(question, timings)
        return self._with_gate_recorded(gated, trace, timings)

    def search(self, question: str) -> Evidence:
        """The passages for the time asked about. Nothing is decided, drafted or recorded."""
        current = examined(fresh(*self._search(question, Timings())).evidence, self.reader)
        return replace(current, notes=(*current.notes, *flag_notes(current)))

    # The steps of `answer`, for callers that obtain the draft themselves (the gateway).

    def begin(self, question: str, earlier: Sequence[Verdict] = ()) -> GatedQuestion:
        """Retrieve the evidence and run the gate."""
        timings = Timings()
        gated, trace = self._search_and_gate(checked_question(question), timings)
        before = examined(Evidence("", served_answers(earlier)), self.reader).items
        return self._turn(gated, replace(trace, earlier=before), timings)

    def refusal(self, turn: GatedQuestion) -> Verdict | None:
        """The verdict if nothing may be drafted; `None` if a draft may be written."""
        evidence, gate = turn.gated
        if gate.level is Level.CONFLICT:
            return disagree(evidence, gate)
        if self.gate.may_draft(evidence, gate):
            return None
        return refused_by_gate(evidence, gate)

    def write_draft(self, turn: GatedQuestion, brief: Brief) -> Draft:
        """The drafter's draft, with the text that a reader sees."""
        return as_shown(self.drafter.write(turn.read, brief), turn.read.passages)

    def check_draft(self, turn: GatedQuestion, draft: Draft) -> tuple[Finding, ...]:
        """The findings on a draft, with verified answers of earlier turns as evidence."""
        before = turn.trace.earlier
        known = replace(turn.read, items=(*turn.read.items, *before), earlier=len(before))
        with turn.timings.measure("check"), metered(turn.verifying):
            return self.check(draft, known)

    def check(self, draft: Draft, evidence: Evidence) -> tuple[Finding, ...]:
        """The findings of all checks. Instructions to the model are not evidence."""
        return judged(self.checks, draft, evidence)

    def conclude(self, turn: GatedQuestion, rounds: Sequence[Round]) -> Verdict:
        """The verdict on the last draft, or on a rescued version of it."""
        last, gate = rounds[-1], turn.gated.decision
        routes = read_routes(self.verdict_settings.routes)
        assessments = [
            assessed(turn.read, gate, revision.draft, revision.findings) for revision in rounds
        ]
        attempts = tuple(
            Attempt(
                revision.draft,
                tuple(revision.findings),
                route_text(gate, revision.draft, assessment, routes),
            )
            for revision, assessment in zip(rounds, assessments, strict=True)
        )
        verdict = decide(turn.read, gate, last.draft, last.findings, routes, assessments[-1])
        if verdict.served and len(rounds) > 1:
            verdict = replace(verdict, rescue=Rescue.REVISED)
        if self.verdict_settings.rescue and (not verdict.served or assessments[-1].weak):
            with turn.timings.measure("rescue"), metered(turn.verifying):
                verdict = self._rescued(turn, verdict, last, assessments[-1])
        asked = wording.verified(turn.verifying.cost)
        return replace(verdict, attempts=attempts, notes=(*verdict.notes, *asked))

    def quote_instead(self, turn: GatedQuestion, problem: ModelError) -> Verdict:
        """Quote the evidence because no draft could be written; raise the problem if quoting is
        impossible."""
        if not self.quotes or not self.verdict_settings.rescue:
            raise problem
        return self._quoted(unwritten(turn.read, turn.gated.decision, str(problem)))

    def record_verdict(self, turn: GatedQuestion, verdict: Verdict) -> Verdict:
        """Record the verdict before it is returned, and report a knowledge gap to the webhook."""
        if self.record is not None:
            trace = replace(turn.trace, timings=turn.timings.stages)
            with within(None):  # a decision is recorded even if nobody waits for it any more
                verdict = replace(verdict, record=self.record.verdict(verdict, trace))
        if verdict.gap and self.verdict_settings.gap_webhook:
            request_document(verdict, self.verdict_settings.gap_webhook)
        return verdict

    def record_gate(self, turn: GatedQuestion) -> GateDecision:
        """Record the gate decision when no verdict follows because the model calls tools."""
        return self._with_gate_recorded(turn.gated, turn.trace, turn.timings).decision

    def override(self, gated: GateResult, trace: Trace, note: str) -> tuple[Verdict, Trace]:
        """Draft and check an answer after a person has overridden a closed gate; `note` says who
        did so and why. The verdict is CAVEAT at best and is not recorded here."""
        turn = self._turn(gated, trace, Timings())
        verdict = overridden(self._answer(turn), note)
        return verdict, replace(trace, timings=turn.timings.stages)

    def _search_and_gate(self, question: str, timings: Timings) -> tuple[GateResult, Trace]:
        evidence, when, day = self._search(question, timings)
        apply_gate = timings.measured("gate", self.gate.apply)
        return apply_gate(evidence, when, day), Trace(evidence, when, day)

    def _search(self, question: str, timings: Timings) -> tuple[Evidence, When, date]:
        day = self.clock()
        when = time_of(question, self.retriever, day)
        retriever = retriever_at(self.retriever, when, day)
        asked = Evidence(question, subject=unnamed(self.subject, question))
        with timings.measure("search"):
            return find(retriever, asked, self.embedder, self.rewriter), when, day

    def _turn(self, gated: GateResult, trace: Trace, timings: Timings) -> GatedQuestion:
        read = self.filter(gated.evidence) if self.filter else gated.evidence
        return GatedQuestion(gated, trace, read, timings)

    def _answer(self, turn: GatedQuestion) -> Verdict:
        try:
            revised = revise(
                turn.timings.measured("draft", lambda brief: self.write_draft(turn, brief)),
                lambda draft: self.check_draft(turn, draft),
                self.draft_settings,
                Brief(conflicts=turn.gated.decision.conflicts),
            )
        except ModelError as problem:
            return self.quote_instead(turn, problem)
        return self.conclude(turn, revised.rounds)

    def _rescued(
        self, turn: GatedQuestion, verdict: Verdict, last: Round, assessment: Assessment
    ) -> Verdict:
        """The first version that can be released: with corrected citations, trimmed to its backed
        claims or, if the drafter failed, replaced by quotations."""
        if marked := reattributed(last.draft, last.findings, turn.read):
            again = assess(marked, self.check(marked, turn.read))
            cut = trimmed(marked, again)  # drop what is still unbacked
            saved = self._released_or(verdict, cut or marked, Rescue.REATTRIBUTED)
            if saved is not verdict:
                return saved
        cut = trimmed(last.draft, assessment)
        verdict = self._released_or(verdict, cut, Rescue.TRIMMED) if cut else verdict
        return self._quoted(verdict) if not verdict.served and failed(last.draft) else verdict

    def _quoted(self, verdict: Verdict) -> Verdict:
        """The verdict on quotations if they can be released, otherwise the given verdict."""
        if self.quotes is None:
            return verdict
        quoted = as_shown(self.quotes.write(verdict.evidence), verdict.evidence.passages)
        return self._released_or(verdict, quoted, Rescue.EXTRACTIVE)

    def _released_or(self, verdict: Verdict, other: Draft, how: Rescue) -> Verdict:
        """The verdict on another draft if it can be released, otherwise the given verdict."""
        findings = self.check(other, verdict.evidence)
        routes = read_routes(self.verdict_settings.routes)
        second = decide(verdict.evidence, verdict.gate, other, findings, routes)
        return rescued(second, how, verdict) if second.served else verdict

    def _with_gate_recorded(self, gated: GateResult, trace: Trace, timings: Timings) -> GateResult:
        if self.record is None:
            return gated
        kept = self.record.gate(*gated, replace(trace, timings=timings.stages))
        return gated._replace(decision=replace(gated.decision, record=kept))
