"""The decision before generation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from suffice.types.evidence import Passage


class Level(StrEnum):
    """The gate's assessment of the evidence, before anything is drafted."""

    SUFFICIENT = "SUFFICIENT"
    PARTIAL = "PARTIAL"
    INSUFFICIENT = "INSUFFICIENT"
    CONFLICT = "CONFLICT"
    REVIEW = "REVIEW"


@dataclass(frozen=True, slots=True)
class Signal:
    """One measurement of the gate, with the threshold it was compared with."""

    name: str
    value: float | None
    threshold: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A passage that was left out, and why."""

    passage: Passage
    reason: str
    partly: bool = False
    """Whether only some words of it were left out; the rest is evidence."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two passages that cannot both be right, with quotes. `ambiguous`: they are about different
    things with the same name, which is not a conflict but must be disclosed."""

    first: Passage
    second: Passage
    first_quote: str
    second_quote: str
    score: float
    reason: str = ""
    ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class GateDecision:
    """The decision before generation, with its reasons and what the documents do not cover."""

    level: Level
    score: float
    policy: str
    reasons: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    factors: tuple[str, ...] = ()
    tier: str | None = None
    """The similarity tier that opened, or the tier of the verifier that judged."""
    signals: tuple[Signal, ...] = ()
    excluded: tuple[Exclusion, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    next_steps: tuple[str, ...] = ()
    record: str = field(default="", compare=False)
    """The id of its record in the log, if it was recorded without a verdict."""

    @property
    def open(self) -> bool:
        """Whether a draft may be written."""
        return self.level in (Level.SUFFICIENT, Level.PARTIAL)
