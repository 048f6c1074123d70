"""What a check found about one claim."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from suffice.types.draft import Claim

RULES_ON_MEANING = frozenset({"literals", "omission"})
"""The checks whose rules in code judge what a claim means. Other rules report what they can prove,
such as a citation that does not exist."""


class Support(StrEnum):
    """A check's judgement of one claim. A claim that was not checked is UNCHECKED, never BACKED."""

    BACKED = "BACKED"
    CONTRADICTED = "CONTRADICTED"
    UNBACKED = "UNBACKED"
    UNCHECKED = "UNCHECKED"


class Hallucination(StrEnum):
    """The kinds of hallucination."""

    FAITHFULNESS = "faithfulness"
    """The claim contradicts the evidence."""
    FACTUALITY = "factuality"
    """The claim is in no passage and likely comes from the model's training."""
    ATTRIBUTION = "attribution"
    """The cited source does not exist or is the wrong one."""
    OMISSION = "omission"
    """The claim omits a condition without which it is not true."""


class Code(StrEnum):
    """The specific result of a check, in addition to its judgement."""

    CLEAR = "clear"
    """The check found no problem in what it examines; the rest of the claim may be wrong."""
    OFF = "off"
    """The check is switched off in the settings."""
    FAILED = "failed"
    """The check failed on this claim, so its result is unknown."""

    UNCITED = "uncited"
    SHORT = "short"
    CUT_OFF = "cut off"
    TRAINING = "training"
    """The claim itself says that it does not come from the evidence."""
    ABSTAINED = "abstained"

    VERIFIED = "verified"
    """The source exists, was retrieved, is current, in force, and supports the claim."""
    RESOLVED = "resolved"
    """As VERIFIED, except that support for the claim was not determined."""
    FABRICATED = "fabricated"
    NOT_RETRIEVED = "not retrieved"
    STALE = "stale"
    EXPIRED = "expired"
    MISATTRIBUTED = "misattributed"

    DERIVED = "derived"
    """A value computed from two values in the source."""
    CHANGED = "changed"
    """The source has a different value for the same thing."""
    ABSENT = "absent"
    MISCALCULATED = "miscalculated"
    """A calculation that the claim writes out has another result."""

    UNSURE = "unsure"
    """The words are in the source, but the verifier cannot tell whether they support the claim."""

    MARKED = "marked"
    """The only source also holds words that look like an instruction to the model."""

    DOUBTED = "doubted"
    """The source has another value or none, but the verifier finds the claim supported."""

    OMITTED = "omitted"

    BESIDE = "beside the question"
    """The answer does not address the question."""
    UNANSWERED = "unanswered"
    """The answer leaves one of several questions unanswered."""
    FAR = "far"
    """The claim is not similar to any cited passage; this does not mean that it is wrong."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One of several facts in a claim, judged separately."""

    text: str
    support: Support


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's judgement of one claim."""

    claim: Claim
    check: str
    support: Support
    score: float | None = None
    passage_id: str | None = None
    span: tuple[int, int] | None = None
    """The relevant span of the passage's text."""
    reason: str = ""
    code: Code | None = None
    kind: Hallucination | None = None
    """The kind of hallucination, if the claim is one."""
    facts: tuple[Fact, ...] = ()
    """The facts of the claim, if it has several and the check judges facts."""
