"""Which decisions a person is asked to look at, and how likely each was to be chosen.

What is left to a person, what invented a source and what lay near a threshold is always chosen. Of
the other answers that were served, each is chosen by chance, independently of all others and of
what it says, with the rate `record.sample`. The chance is the operating system's: nobody can
foresee or repeat it, not even who knows the record. It need not be repeated, since outcome and
probability are both recorded.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from suffice.log.record import Record
from suffice.record.about import QUEUE
from suffice.settings import RecordSettings
from suffice.types import Action, GateDecision, Level, Verdict

SAMPLING = "sampling"
_ROUNDING = 1e-9


class Why(StrEnum):
    """What brought a decision into the queue."""

    REVIEW = "review"
    """The decision itself leaves it to a person."""
    FABRICATED = "fabricated"
    """A draft on the way named a source that does not exist, whatever was served in the end."""
    BORDERLINE = "borderline"
    """The gate's score lay near the number it was held against."""
    SAMPLED = "sampled"
    """By chance, to learn how often answers are wrong."""


@dataclass(frozen=True, slots=True)
class Draw:
    """`probability` is that of being chosen. Only answers that were `served` are ones that may
    turn out wrong; in an estimate, the others do not count."""

    why: tuple[Why, ...]
    probability: float
    served: bool


def borderline(gate: GateDecision, margin: float) -> bool:
    """Whether what the gate went by lay within the margin of the number it was held against."""
    decisive = (one for one in gate.signals if one.value == gate.score)
    return margin > 0 and any(
        one.threshold is not None and abs(gate.score - one.threshold) <= margin + _ROUNDING
        for one in decisive
    )


@dataclass(frozen=True, slots=True)
class Sampler:
    """Chooses by the settings, and by chance."""

    rate: float = 0.0
    margin: float = 0.0
    chance: Callable[[], float] = field(default=random.SystemRandom().random)
    """A number from [0, 1), evenly."""

    @classmethod
    def of(cls, settings: RecordSettings) -> Sampler:
        return cls(settings.sample, settings.borderline)

    def verdict(self, verdict: Verdict) -> Draw:
        why = [Why.REVIEW] if verdict.action is Action.REVIEW else []
        why += [Why.FABRICATED] if verdict.fabricated else []
        return self._draw(verdict.gate, why, served=verdict.served)

    def gate(self, gate: GateDecision) -> Draw:
        why = [Why.REVIEW] if gate.level is Level.REVIEW else []
        return self._draw(gate, why, served=False)

    def _draw(self, gate: GateDecision, why: Sequence[Why], *, served: bool) -> Draw:
        near = [Why.BORDERLINE] if borderline(gate, self.margin) else []
        if why or near:
            return Draw((*why, *near), 1.0, served)
        if not served:
            return Draw((), 0.0, served)
        drawn = self.chance() < self.rate
        return Draw((Why.SAMPLED,) if drawn else (), self.rate, served)


def queued(records: list[Record], draw: Draw) -> list[Record]:
    """The records of a decision, with its chance among its fields, and its place in the queue
    beside it where it was chosen."""
    first, *rest = records
    if draw.served:
        said = {"probability": draw.probability, "drawn": bool(draw.why)}
        first = replace(first, fields={**first.fields, SAMPLING: said})
    if draw.why:
        entered = {
            "record": first.id,
            "question": first.fields["question"],
            "why": [why.value for why in draw.why],
            "probability": draw.probability,
            "served": draw.served,
        }
        rest.append(Record(QUEUE, entered, first.caller, first.tag, f"{first.id}.{QUEUE}"))
    return [first, *rest]
