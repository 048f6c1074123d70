"""Estimates the error rate of served answers from the answers that reviewers judged.

Answers are sampled independently with a known probability π, so the Horvitz-Thompson sum of 1/π
over the sampled wrong answers is an unbiased estimate of the number of wrong answers. Of E wrong
answers, Binomial(E, π) are sampled. The interval contains every E under which the observation is
not too unlikely (Clopper-Pearson), so it is valid for any number of answers, even if few or none
are wrong. Sampled answers that were not judged count as right for the lower end of the interval and
as wrong for the upper end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from suffice.bounds import at_most


@dataclass(frozen=True, slots=True)
class Stratum:
    """Answers with the same sampling probability: how many there are, and how many were drawn,
    judged, and judged wrong."""

    probability: float
    population: int
    drawn: int
    judged: int
    wrong: int

    def __post_init__(self) -> None:
        counted = 0 <= self.wrong <= self.judged <= self.drawn <= self.population
        if not counted or not 0 <= self.probability <= 1 or (self.drawn and not self.probability):
            raise ValueError(f"inconsistent stratum: {self}")


@dataclass(frozen=True, slots=True)
class Estimate:
    """The share of wrong answers. `rate` is unbiased if all sampled answers were judged (otherwise
    unjudged answers are assumed to be like judged ones); it is `None` if too few were judged, and
    can exceed 1 by chance. The true share lies in [low, high] with the given confidence."""

    rate: float | None
    low: float
    high: float
    confidence: float
    population: int
    drawn: int
    judged: int
    wrong: int


def estimate(strata: Sequence[Stratum], confidence: float = 0.95) -> Estimate:
    """Combine the strata; the error probability of the interval is split among the sampled ones."""
    if not 0 < confidence < 1:
        raise ValueError("the confidence must be between 0 and 1")
    population = sum(item.population for item in strata)
    chance = [item for item in strata if item.probability < 1]
    risk = (1 - confidence) / max(1, len(chance)) / 2
    ends = [_interval(item, risk) for item in strata]
    seen = any(item.judged for item in strata)
    known = seen and all(item.judged or (item.probability and not item.drawn) for item in strata)
    return Estimate(
        rate=sum(_total(item) for item in strata) / population if known else None,
        low=sum(low for low, _ in ends) / population if population else 0.0,
        high=sum(high for _, high in ends) / population if population else 1.0,
        confidence=confidence,
        population=population,
        drawn=sum(item.drawn for item in strata),
        judged=sum(item.judged for item in strata),
        wrong=sum(item.wrong for item in strata),
    )


def _total(stratum: Stratum) -> float:
    """The Horvitz-Thompson estimate of the number of wrong answers."""
    if not stratum.wrong:
        return 0.0
    return stratum.wrong / stratum.probability * stratum.drawn / stratum.judged


def _interval(stratum: Stratum, risk: float) -> tuple[int, int]:
    """The least and greatest plausible number of wrong answers in a stratum."""
    wrong, right = stratum.wrong, stratum.judged - stratum.wrong
    most_wrong = wrong + stratum.drawn - stratum.judged
    if stratum.probability == 1:  # answers that were not drawn are unknown
        return wrong, stratum.population - right
    most = stratum.population - right
    if not stratum.probability:
        return 0, most
    p = stratum.probability
    few = _last(wrong, most, lambda all_: 1 - at_most(wrong - 1, all_, p) <= risk)
    many = _last(most_wrong, most, lambda all_: at_most(most_wrong, all_, p) > risk)
    least = wrong if few is None else min(few + 1, most)
    return least, most if many is None else many


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """The last number in [low, high] for which a monotone condition holds, by bisection."""
    if low > high or not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low
