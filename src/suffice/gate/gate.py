"""The gate makes all decisions before a draft is written:

filter by date → deduplicate → policy → require a fact → detect conflicts → explain
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import NamedTuple, Protocol

from suffice.evidence.deduplicate import distinct
from suffice.evidence.index import Found, gather, today
from suffice.evidence.sanitize import (
    READER,
    InstructionReader,
    examined,
    flag_exclusions,
    flag_notes,
    sanitized,
)
from suffice.gate.conflict.detect import Conflicts
from suffice.gate.freshness import TimeAsked, When, asked_about, fresh, left_out
from suffice.gate.missing import missing_aspects, missing_dates, next_steps
from suffice.gate.policies.coverage import Coverage
from suffice.gate.policies.policy import Policy, known_policy, open_policy
from suffice.gate.policies.tiers import Tiers
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.embedder import Embedder
from suffice.models.llm.verifier import for_gate
from suffice.models.verifier import Verifier
from suffice.settings import (
    CollectionSettings,
    DiversitySettings,
    EmbedderSettings,
    GateSettings,
    KindSettings,
    VerifierSettings,
)
from suffice.switch import rule
from suffice.text.question import checked_question, several, with_subject
from suffice.text.words import Synonyms
from suffice.types import Conflict, Evidence, Exclusion, GateDecision, Kind, Level, Retrieved


def diverse(evidence: Evidence, settings: DiversitySettings | None = None) -> str | None:
    """The reason why an answer may not rest on the evidence: no passage is of a kind that the
    settings require. `None` if one is, or if the settings require none."""
    settings = settings or DiversitySettings()
    if not settings.require_fact or any(_grounds(item, settings) for item in evidence):
        return None
    counts = Counter(item.passage.kind.value for item in evidence)
    held = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nothing"
    return (
        f"there is neither a fact with similarity {settings.min_fact_relevance:.2f} or more "
        f"nor a question-and-answer pair with {settings.min_qa_relevance:.2f} or more ({held})"
    )


def _grounds(item: Retrieved, settings: DiversitySettings) -> bool:
    """Whether an answer may rest on this passage. Q&A pairs without a known relevance do not
    count."""
    if item.passage.kind is Kind.FACT:
        return item.relevance is None or item.relevance >= settings.min_fact_relevance
    strong = item.relevance is not None and item.relevance >= settings.min_qa_relevance
    return item.passage.kind is Kind.QA and strong


@dataclass(frozen=True, slots=True)
class Explain:
    """What an explanation needs besides the evidence. It does not change the decision."""

    synonyms: Synonyms = field(default_factory=Synonyms.read)
    contact: str = ""

    def missing(self, evidence: Evidence) -> tuple[str, ...]:
        return missing_aspects(evidence, self.synonyms)

    def __call__(
        self,
        decision: GateDecision,
        evidence: Evidence,
        stale: Sequence[Exclusion] = (),
        copies: Sequence[Exclusion] = (),
    ) -> GateDecision:
        """Add the explanation. Passages excluded by date are named, because they may contain the
        answer; copies are not, because their text was read. For evidence judged sufficient, only
        missing dates are listed."""
        enough = decision.level is Level.SUFFICIENT
        said = replace(
            decision,
            missing=missing_dates(evidence) if enough else self.missing(evidence),
            excluded=(*decision.excluded, *stale, *copies),
            reasons=(*decision.reasons, *(f"left out {line}" for line in left_out(stale))),
        )
        return replace(said, next_steps=next_steps(said, evidence, self.contact, stale))


def adjusted(evidence: Evidence, settings: KindSettings | None = None) -> Evidence:
    """The evidence with each relevance multiplied by the weight of the passage's kind.

    Only the gate uses this. Results show the raw relevance, in search order.
    """
    settings = settings or KindSettings()
    return replace(evidence, items=tuple(_adjusted(item, settings) for item in evidence))


def _adjusted(item: Retrieved, settings: KindSettings) -> Retrieved:
    weight: float = getattr(settings.weights, item.passage.kind.value)
    # A small weight must not raise a negative cosine.
    if item.relevance is None or item.relevance <= 0:
        return item
    return replace(item, relevance=min(item.relevance * weight, 1.0))


_COMPARE = "the passages come from several versions, which the reader has to compare"


class FindsConflicts(Protocol):
    """Finds pairs of passages that contradict each other."""

    def find(self, evidence: Evidence) -> tuple[Conflict, ...]: ...


class GateResult(NamedTuple):
    """The evidence that applies, and the decision about it."""

    evidence: Evidence
    decision: GateDecision


class Gate:
    """Decides whether the evidence is sufficient, current, diverse and free of contradictions.

    >>> Gate(policy="learned").decide("How long is parental leave?", ["It is 20 weeks."]).level
    <Level.SUFFICIENT: 'SUFFICIENT'>
    """

    def __init__(
        self,
        policy: str | Policy | None = None,
        settings: GateSettings | None = None,
        *,
        verifier: Verifier | None = None,
        embedder: Embedder | None = None,
        conflicts: FindsConflicts | None = None,
        explain: Explain | None = None,
        clock: Callable[[], date] = today,
        reader: InstructionReader = READER,
    ) -> None:
        settings = settings or GateSettings()
        if isinstance(policy, str):
            settings = replace(settings, policy=known_policy(policy))
        self.settings = settings
        chosen = None if isinstance(policy, str) else policy
        verifier = verifier or open_verifier(VerifierSettings())
        self.explain = explain or Explain(contact=settings.contact)
        self.policy = chosen or open_policy(settings, verifier, self.explain.missing)
        self.conflicts = conflicts or Conflicts(verifier, settings.conflict)
        self.clock = clock
        self.reader = reader
        self._embedder = embedder

    @classmethod
    def of(
        cls,
        settings: CollectionSettings,
        embedder: Embedder,
        verifier: Verifier | None = None,
        reader: InstructionReader = READER,
    ) -> Gate:
        """The gate that the settings describe, for the drafter that they name."""
        synonyms = Synonyms.read(settings.search.synonyms)
        explain = Explain(synonyms, settings.gate.contact)
        gate = settings.gate
        gate = replace(gate, learned=replace(gate.learned, threshold=settings.opens))
        verifier = verifier or open_verifier(VerifierSettings())
        return cls(
            settings=gate,
            verifier=for_gate(verifier, settings.draft),
            embedder=embedder,
            conflicts=Conflicts(verifier, gate.conflict),
            explain=explain,
            reader=reader,
        )

    def may_draft(self, evidence: Evidence, decision: GateDecision) -> bool:
        """Whether to write a draft: the gate is open, or the settings ask for drafts from
        insufficient evidence. Such drafts are never released without a caveat."""
        thin = decision.level is Level.INSUFFICIENT and len(evidence) > 0
        declines = self.settings.coverage.decline_insufficient
        return decision.open or (thin and self.settings.policy == "coverage" and not declines)

    def decide(self, question: str | Evidence, passages: Found = ()) -> GateDecision:
        """Decide on passages from any source. Missing relevance scores are computed."""
        if isinstance(question, Evidence):
            return self.apply(question).decision
        if self._embedder is None:
            self._embedder = open_embedder(EmbedderSettings())
        return self.apply(gather(checked_question(question), passages, self._embedder)).decision

    async def adecide(self, question: str | Evidence, passages: Found = ()) -> GateDecision:
        """`decide` without blocking the event loop."""
        return await asyncio.to_thread(self.decide, question, passages)

    def apply(
        self, evidence: Evidence, when: When | None = None, day: date | None = None
    ) -> GateResult:
        """The evidence that applies to the time asked about, and the decision about it."""
        day = day or self.clock()
        when = when or asked_about(evidence.question, day)
        current, stale, _ = fresh(evidence, when, day)
        counted, copies = distinct(current, self.settings.diversity)
        counted = examined(counted, self.reader)
        # The passages were selected for the time asked about, so the question is judged without it.
        read = sanitized(replace(counted, question=counted.wanted))
        decision = self._enough(adjusted(read, self.settings.kinds))
        if counted.timeless and when.asked is TimeAsked.EVER:
            decision = _to_compare(decision, counted, Tiers(self.settings.tiers))
        decision = self._with_conflicts(self._diverse(decision, counted), read)
        decision = _as_retrieved(decision, counted)
        dropped = {exclusion.passage.id for exclusion in decision.excluded}
        kept = replace(
            counted, items=tuple(item for item in counted if item.passage.id not in dropped)
        )
        asked = replace(kept, question=read.question)
        explained = self.explain(decision, asked, stale, copies)
        explained = replace(explained, excluded=(*explained.excluded, *flag_exclusions(kept)))
        if isinstance(self.policy, Coverage) and self.policy.settings.exact:
            explained = replace(explained, missing=decision.missing)
        return GateResult(replace(kept, notes=(*kept.notes, *flag_notes(kept))), explained)

    def _enough(self, evidence: Evidence) -> GateDecision:
        """The decision of the policy. If the gate stays closed for several questions together, each
        is decided separately."""
        whole = self.policy.decide(evidence)
        asked = several(evidence.question)
        if whole.open or len(asked) == 1 or not self.settings.split_questions:
            return whole
        each = [
            self.policy.decide(replace(evidence, question=question))
            for question in with_subject(asked)
        ]
        opened = [one for one in each if one.open]
        if not opened:
            return whole
        weakest = min(opened, key=lambda one: one.score)
        shut = (question for question, one in zip(asked, each, strict=True) if not one.open)
        left = [f"not enough was found about “{question.strip(' ?')}”" for question in shut]
        level = Level.PARTIAL if left else weakest.level
        return replace(weakest, level=level, reasons=(*weakest.reasons, *left))

    def _diverse(self, decision: GateDecision, evidence: Evidence) -> GateDecision:
        """Close the gate if the settings require a fact and the evidence has none."""
        lack = diverse(evidence, self.settings.diversity) if decision.open else None
        if lack is None:
            return decision
        return replace(decision, level=Level.INSUFFICIENT, reasons=(*decision.reasons, lack))

    def _with_conflicts(self, decision: GateDecision, evidence: Evidence) -> GateDecision:
        """Report contradicting passages if the gate is open. Otherwise neither would be used."""
        found = self.conflicts.find(evidence) if decision.open else ()
        if not found:
            return decision
        checked = replace(
            decision,
            conflicts=found,
            reasons=(*decision.reasons, *(conflict.reason for conflict in found)),
        )
        opposed = any(not conflict.ambiguous for conflict in found)
        return replace(checked, level=Level.CONFLICT) if opposed else checked


@rule("compare", lambda decision, evidence, tiers: decision)
def _to_compare(decision: GateDecision, evidence: Evidence, tiers: Tiers) -> GateDecision:
    """Add a caveat if the question compares versions. No single passage states what changed, so the
    verifier cannot judge it: if the best passage is there in several versions, similarity does."""
    families = [passage.family for passage in evidence.passages]
    beside = bool(families and families[0]) and families.count(families[0]) > 1
    near = beside and not decision.open and tiers.decide(evidence).open
    if decision.level is not Level.SUFFICIENT and not near:
        return decision
    reasons = (*decision.reasons, _COMPARE)
    return replace(decision, level=Level.PARTIAL, reasons=reasons, compares=True)


def _as_retrieved(decision: GateDecision, evidence: Evidence) -> GateDecision:
    """The decision on the sanitised passages, with the passages as retrieved."""
    found = {passage.id: passage for passage in evidence.passages}
    return replace(
        decision,
        excluded=tuple(replace(e, passage=found[e.passage.id]) for e in decision.excluded),
        conflicts=tuple(
            replace(c, first=found[c.first.id], second=found[c.second.id])
            for c in decision.conflicts
        ),
    )
