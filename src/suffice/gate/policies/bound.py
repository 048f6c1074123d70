"""Opens the gate only if a lower confidence bound on mean relevance reaches a threshold.

docs/reference/gate.md explains what the bound guarantees and what it does not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from suffice.bounds import (
    HALF_RANGE,
    Adaptive,
    Azuma,
    Bernstein,
    Betting,
    Bound,
    EmpiricalBernstein,
    Hoeffding,
    Inequality,
    Sample,
    lower_bound,
    more_needed,
)
from suffice.gate.missing import missing_aspects
from suffice.gate.policies.tiers import NO_PASSAGE, NO_SIMILARITY, Similarity, counted, similarity
from suffice.settings import BoundSettings
from suffice.types import Evidence, GateDecision, Level, Signal


@dataclass(frozen=True, slots=True)
class LowerBound:
    """Opens if mean − ε ≥ τ: relevant on average, with enough passages to be confident."""

    settings: BoundSettings = field(default_factory=BoundSettings)

    def decide(self, evidence: Evidence) -> GateDecision:
        found = similarity(evidence)
        if not found.scores:
            return GateDecision(
                level=Level.INSUFFICIENT,
                score=0.0,
                policy="bound",
                reasons=(NO_SIMILARITY if evidence else NO_PASSAGE,),
                missing=missing_aspects(evidence),
                signals=(Signal("n", 0), Signal("lower bound", None, self.settings.threshold)),
            )
        return self._judge(evidence, found)

    def _judge(self, evidence: Evidence, found: Similarity) -> GateDecision:
        tau, delta = self.settings.threshold, self.settings.delta
        inequality, sample = choose(self.settings), Sample.of(found.scores)
        bound = lower_bound(inequality, sample, delta)
        more = more_needed(inequality, sample, delta, tau)
        clears = bound.lower >= tau
        return GateDecision(
            level=Level.SUFFICIENT if clears else Level.INSUFFICIENT,
            score=bound.lower,
            policy="bound",
            reasons=(_bound_reason(bound, tau), *_lack(bound, tau, more), *found.notes),
            missing=() if clears else missing_aspects(evidence),
            signals=_signals(bound, tau, more, found),
        )


def choose(settings: BoundSettings) -> Inequality:
    """The inequality from the settings, or the best for the retrieval method."""
    known = settings.variance or None
    suited = {
        "independent": "hoeffding",
        "sequential": "azuma",
        "reranked": "azuma",
        "low-variance": "bernstein" if known else "empirical-bernstein",
    }
    name = settings.inequality
    each: dict[str, Inequality] = {
        "hoeffding": Hoeffding(),
        "azuma": Azuma(settings.score_half_width or None),
        "bernstein": Bernstein(known),
        "empirical-bernstein": EmpiricalBernstein(),
        "betting": Betting(),
        "adaptive": adaptive(settings),
    }
    return each[suited[settings.retrieval] if name == "auto" else name]


def adaptive(settings: BoundSettings) -> Adaptive:
    """The tightest bound that needs no estimate, including Azuma only if it can be tightest."""
    variance = settings.variance
    bernstein = Bernstein(variance) if variance else EmpiricalBernstein()
    narrow = (
        (Azuma(settings.score_half_width),) if 0 < settings.score_half_width < HALF_RANGE else ()
    )
    return Adaptive((Hoeffding(), bernstein, Betting(), *narrow))


def _bound_reason(bound: Bound, tau: float) -> str:
    note = f"; {bound.note}" if bound.note else ""
    held = "reaches" if bound.lower >= tau else "is under"
    return (
        f"the lower bound {bound.lower:.3f} on mean relevance {held} {tau:g} ({bound.name}, "
        f"n = {bound.n}, mean {bound.mean:.3f}, ε {bound.epsilon:.3f}, δ {bound.delta:g}{note})"
    )


def _lack(bound: Bound, tau: float, more: int | None) -> tuple[str, ...]:
    if more == 0:
        return ()
    if more is not None:
        return (f"{counted(more, 'more passage')} with the same mean would be needed",)
    if bound.mean > tau:
        return ("even a million more passages with the same mean would not be enough",)
    return (f"the mean is not above {tau:g}: more passages with the same mean would not help",)


def _signals(bound: Bound, tau: float, more: int | None, found: Similarity) -> tuple[Signal, ...]:
    return (
        Signal("n", bound.n),
        Signal("mean", bound.mean, note="; ".join(found.notes)),
        Signal("epsilon", bound.epsilon, note=bound.note),
        Signal("delta", bound.delta),
        Signal("lower bound", bound.lower, tau, bound.name),
        Signal("unclipped bound", bound.unclipped),
        Signal("more passages needed", more, note="no number is enough" if more is None else ""),
    )
