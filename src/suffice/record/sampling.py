"""Selects decisions for human review and records the probability of each selection.

Decisions with the verdict REVIEW or CONFLICT, with a fabricated source, or near a threshold are
always selected. Each other served answer is sampled at random with the rate `record.review_sample`,
independently of its content and of other answers. The randomness comes from the operating system,
so the sample cannot be predicted or reproduced. Outcome and probability are both recorded.
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
    """The reason a decision is in the review queue."""

    REVIEW = "review"
    """The verdict, or the level of the gate, is REVIEW."""
    FABRICATED = "fabricated"
    """A draft cited a source that does not exist, regardless of the released text."""
    CONFLICT = "conflict"
    """Passages contradict each other."""
    BORDERLINE = "borderline"
    """The gate's score was near its threshold."""
    SAMPLED = "sampled"
    """A random sample, to estimate the error rate."""
    WEEKLY = "weekly"
    """The monitor's weekly random sample of served and withheld answers."""
    FEEDBACK = "feedback"
    """A user rated the answer down."""


@dataclass(frozen=True, slots=True)
class Draw:
    """The result of the selection; `probability` is the chance of being selected. Only `served`
    answers count in the estimate of the error rate."""

    why: tuple[Why, ...]
    probability: float
    served: bool


def borderline(gate: GateDecision, margin: float) -> bool:
    """Whether the decisive score of the gate is within `margin` of its threshold."""
    decisive = (signal for signal in gate.signals if signal.value == gate.score)
    return margin > 0 and any(
        signal.threshold is not None and abs(gate.score - signal.threshold) <= margin + _ROUNDING
        for signal in decisive
    )


@dataclass(frozen=True, slots=True)
class Sampler:
    """Selects decisions by the configured rules and at random."""

    rate: float = 0.0
    margin: float = 0.0
    chance: Callable[[], float] = field(default=random.SystemRandom().random)
    """Returns a uniform random number in [0, 1)."""

    @classmethod
    def of(cls, settings: RecordSettings) -> Sampler:
        return cls(settings.review_sample, settings.review_borderline)

    def verdict(self, verdict: Verdict) -> Draw:
        why = [Why.REVIEW] if verdict.action is Action.REVIEW else []
        why += [Why.FABRICATED] if verdict.fabricated else []
        conflict = verdict.action is Action.CONFLICT or verdict.gate.level is Level.CONFLICT
        why += [Why.CONFLICT] if conflict else []
        return self._draw(verdict.gate, why, served=verdict.served)

    def gate(self, gate: GateDecision) -> Draw:
        always = {Level.REVIEW: [Why.REVIEW], Level.CONFLICT: [Why.CONFLICT]}
        why = always.get(gate.level, [])
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
    """Add the sampling data to the records of a decision, and a queue record if it was selected."""
    first, *rest = records
    if draw.served:
        sampling = {"probability": draw.probability, "drawn": bool(draw.why)}
        first = replace(first, fields={**first.fields, SAMPLING: sampling})
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
