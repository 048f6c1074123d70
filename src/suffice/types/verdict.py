"""The decision on an answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from suffice.types.draft import Citation, Draft
from suffice.types.evidence import Evidence
from suffice.types.finding import Code, Finding
from suffice.types.gate import GateDecision


class Grade(StrEnum):
    """The grade of an answer, by the share of its claims that are backed."""

    SUPPORTED = "supported"
    PARTIAL = "partially supported"
    WEAK = "weakly supported"
    UNSUPPORTED = "unsupported"


class Rescue(StrEnum):
    """How a draft that could not be released was made releasable."""

    REVISED = "revised"
    REATTRIBUTED = "reattributed"
    TRIMMED = "trimmed"
    EXTRACTIVE = "extractive"


class Action(StrEnum):
    """What is released to the user."""

    SERVE = "SERVE"
    CAVEAT = "CAVEAT"
    CONFLICT = "CONFLICT"
    WITHHOLD = "WITHHOLD"
    REVIEW = "REVIEW"


@dataclass(frozen=True, slots=True)
class Source:
    """A document listed in a refusal."""

    document: str
    title: str
    version: str
    heading: tuple[str, ...] = ()
    relevance: float | None = None
    carried: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """An intermediate draft, its findings, and the row of the routing table that it matches."""

    draft: Draft
    findings: tuple[Finding, ...] = ()
    route: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision on an answer, and why. `released` is the only text to show as an answer."""

    question: str
    action: Action
    reason: str
    gate: GateDecision
    evidence: Evidence
    draft: Draft | None = None
    released: str = ""
    findings: tuple[Finding, ...] = ()
    citations: tuple[Citation, ...] = ()
    missing: tuple[str, ...] = ()
    nearest: tuple[Source, ...] = ()
    share_read: float = 0.0
    """The share of the draft's characters that at least one check judged."""
    notes: tuple[str, ...] = field(default=())
    faithfulness: float | None = None
    """The share of the draft's claims that are backed; `None`: nothing was drafted."""
    fact_score: float | None = None
    """The share of the claims' atomic facts that are backed."""
    grade: Grade | None = None
    route: str = ""
    """The row of the routing table that decided."""
    rescue: Rescue | None = None
    attempts: tuple[Attempt, ...] = ()
    """Every draft that was written, first to last."""
    confidence: float | None = None
    """The probability that the answer is correct: that it answers the question and that its weakest
    claims are supported. `None`: not available."""
    record: str = field(default="", compare=False)
    """The id of its record in the log; empty if nothing is recorded."""
    repeats: str = field(default="", compare=False)
    """The id of the record whose verdict this one repeats from a cache; empty if it is new."""

    @property
    def served(self) -> bool:
        return self.action in (Action.SERVE, Action.CAVEAT, Action.CONFLICT)

    @property
    def fabricated(self) -> int:
        """The number of claims in all drafts that cite a source that does not exist."""
        every = (*self.findings, *(one for attempt in self.attempts for one in attempt.findings))
        return len({finding for finding in every if finding.code is Code.FABRICATED})

    @property
    def gap(self) -> bool:
        """Whether the documents lack an answer: too little evidence, or no support for a draft."""
        unsupported = self.grade is Grade.UNSUPPORTED or self.draft is None
        return self.action is Action.WITHHOLD and unsupported
