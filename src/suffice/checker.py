"""The checker of answers that were written elsewhere.

The verdict applies to the answer as given: nothing is retrieved, gated, revised or trimmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING

from suffice.checks.answer_conflicts import covered_evidence, stated_conflicts
from suffice.checks.check import Check
from suffice.checks.findings import judged
from suffice.checks.structure import shape
from suffice.checks.unread import unread
from suffice.draft.reading import read_draft
from suffice.errors import AnswerError
from suffice.evidence.index import today
from suffice.evidence.inputs import Given, given
from suffice.evidence.sanitize import (
    READER,
    InstructionReader,
    examined,
    flag_exclusions,
    flag_notes,
    sanitized,
)
from suffice.gate.freshness import asked_about, fresh
from suffice.gate.gate import FindsConflicts
from suffice.log.trace import Timings, Trace
from suffice.text.question import checked_question
from suffice.types import Action, Draft, Evidence, GateDecision, Level, Verdict
from suffice.verdict.decide import decide, withhold
from suffice.verdict.route import RoutingRow

if TYPE_CHECKING:
    from suffice.log.log import RecordSink

LONGEST_ANSWER = 100_000
NOT_GATED = GateDecision(
    Level.SUFFICIENT,
    1.0,
    "none",
    ("no gate decision: the passages were supplied with the answer",),
)
EMPTY = "The answer is empty."
NO_CLAIM = "The answer makes no statement that could be checked."
ABSTAINS = "The answer declines and makes no statement, so there is nothing to check."


@dataclass(frozen=True, slots=True)
class Checker:
    """Checks answers; `Engine.checker` opens one."""

    checks: tuple[Check, ...]
    routes: tuple[RoutingRow, ...]
    uncited: bool = False
    conflicts: FindsConflicts | None = None
    """Finds contradictory passages; `None`: conflicts are not detected."""
    clock: Callable[[], date] = today
    reader: InstructionReader = READER
    """Finds instructions to the model in the passages."""
    record: RecordSink | None = None
    """Records every verdict before it is returned."""

    def check(
        self, answer: str, passages: Iterable[Given] | Given, question: str | None = None
    ) -> Verdict:
        timings = Timings()
        asked = checked_question(question) if question else ""
        with timings.measure("check"):
            verdict = self._checked(checked_answer(answer), Evidence(asked, given(passages)))
        if self.record is None:
            return verdict
        trace = Trace(verdict.evidence, day=today(), timings=timings.stages)
        return replace(verdict, record=self.record.verdict(verdict, trace))

    def _checked(self, answer: str, found: Evidence) -> Verdict:
        found = examined(found, self.reader)
        evidence = replace(found, notes=flag_notes(found))
        draft = self._draft(answer, evidence)
        if not draft.claims:
            return _without_claims(draft, evidence)
        findings = judged(self.checks, draft, evidence)
        gate = self._gate_decision(sanitized(evidence), draft)
        gate = replace(gate, excluded=flag_exclusions(evidence))
        return decide(evidence, gate, draft, findings, self.routes)

    def _gate_decision(self, evidence: Evidence, draft: Draft) -> GateDecision:
        """A placeholder decision with the conflicts that concern the answer. Outdated passages
        cannot conflict with current ones."""
        if self.conflicts is None:
            return NOT_GATED
        day = self.clock()
        current = fresh(evidence, asked_about(evidence.question, day), day).evidence
        found = stated_conflicts(
            draft, self.conflicts.find(covered_evidence(draft, current)), evidence
        )
        opposed = any(not conflict.ambiguous for conflict in found)
        return replace(
            NOT_GATED,
            level=Level.CONFLICT if opposed else NOT_GATED.level,
            conflicts=found,
            reasons=(*NOT_GATED.reasons, *(conflict.reason for conflict in found)),
        )

    def _draft(self, answer: str, evidence: Evidence) -> Draft:
        draft = read_draft(answer, evidence.passages, drafter="given")
        if not self.uncited:
            return draft
        unmarked = tuple(replace(claim, cites=()) for claim in draft.claims)
        return replace(draft, claims=unmarked, citations=())


def checked_answer(answer: str) -> str:
    """The answer if it can be checked. Raises `AnswerError` otherwise."""
    if not isinstance(answer, str):
        raise AnswerError(
            f"The answer is a {type(answer).__name__}, not a string.",
            remedy="Pass the answer as one string.",
        )
    if len(answer) > LONGEST_ANSWER:
        raise AnswerError(
            f"The answer has {len(answer):,} characters, over the limit of {LONGEST_ANSWER:,}.",
            remedy="Check it in parts.",
        )
    return answer


def _without_claims(draft: Draft, evidence: Evidence) -> Verdict:
    """The verdict on an answer without claims. A refusal is served, as it contains no unchecked
    statement."""
    plain = shape(draft.text).abstains and not draft.unread
    if draft.text and plain and not unread(draft, evidence):
        held = withhold(evidence, NOT_GATED, ABSTAINS, draft, action=Action.SERVE)
        return replace(held, released=draft.text, nearest=())
    return withhold(evidence, NOT_GATED, NO_CLAIM if draft.text else EMPTY, draft)
