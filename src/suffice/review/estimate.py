"""How often served answers are wrong, from those that a person looked at.

Answers were chosen with a known probability π, each by itself, so the Horvitz-Thompson sum of 1/π
over the wrong ones among those chosen has the number of all wrong ones for its mean, whatever the
answers are. Of E wrong answers, Binomial(E, π) are chosen: the interval holds every E that does not
make what was seen too unlikely (Clopper and Pearson's way), and so holds for any number of answers,
few or none of them wrong. What was chosen and nobody judged yet counts as right in its lower end
and as wrong in its upper.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log


@dataclass(frozen=True, slots=True)
class Stratum:
    """Answers that had the same probability of being chosen: how many there are, and of these were
    chosen, judged, and judged wrong."""

    probability: float
    population: int
    drawn: int
    judged: int
    wrong: int

    def __post_init__(self) -> None:
        counted = 0 <= self.wrong <= self.judged <= self.drawn <= self.population
        if not counted or not 0 <= self.probability <= 1 or (self.drawn and not self.probability):
            raise ValueError(f"{self} cannot be")


@dataclass(frozen=True, slots=True)
class Estimate:
    """The share of wrong answers. `rate` is unbiased if all that was chosen was judged (else what
    was is taken for like what was not), and `None` while nobody knows anything; since it is
    unbiased, it may by chance be over 1. The share is in [low, high] with the confidence."""

    rate: float | None
    low: float
    high: float
    confidence: float
    population: int
    drawn: int
    judged: int
    wrong: int


def estimate(strata: Sequence[Stratum], confidence: float = 0.95) -> Estimate:
    """The strata put together; the risk of a wrong interval is shared among those of chance."""
    if not 0 < confidence < 1:
        raise ValueError("a confidence lies between 0 and 1")
    population = sum(one.population for one in strata)
    chance = [one for one in strata if one.probability < 1]
    risk = (1 - confidence) / max(1, len(chance)) / 2
    ends = [_interval(one, risk) for one in strata]
    seen = any(one.judged for one in strata)
    known = seen and all(one.judged or (one.probability and not one.drawn) for one in strata)
    return Estimate(
        rate=sum(_total(one) for one in strata) / population if known else None,
        low=sum(low for low, _ in ends) / population if population else 0.0,
        high=sum(high for _, high in ends) / population if population else 1.0,
        confidence=confidence,
        population=population,
        drawn=sum(one.drawn for one in strata),
        judged=sum(one.judged for one in strata),
        wrong=sum(one.wrong for one in strata),
    )


def _total(one: Stratum) -> float:
    """Horvitz and Thompson's."""
    return one.wrong / one.probability * one.drawn / one.judged if one.wrong else 0.0


def _interval(one: Stratum, risk: float) -> tuple[int, int]:
    """How many of a stratum are wrong: at least, and at most."""
    right, most_wrong = one.judged - one.wrong, one.wrong + one.drawn - one.judged
    if one.probability == 1:  # all that were not chosen after all are unknown
        return one.wrong, one.population - right
    most = one.population - right
    if not one.probability:
        return 0, most
    p = one.probability
    few = _last(one.wrong, most, lambda all_: 1 - at_most(one.wrong - 1, all_, p) <= risk)
    many = _last(most_wrong, most, lambda all_: at_most(most_wrong, all_, p) > risk)
    least = one.wrong if few is None else min(few + 1, most)
    return least, most if many is None else many


def _last(low: int, high: int, holds: Callable[[int], bool]) -> int | None:
    """The last number of a run for which something holds that, once it does not, never does."""
    if low > high or not holds(low):
        return None
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def at_most(k: int, n: int, p: float) -> float:
    """P(Binomial(n, p) ≤ k), for 0 < p < 1."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    whole, odds = lgamma(n + 1) + n * log(1 - p), log(p) - log(1 - p)
    terms = (whole - lgamma(i + 1) - lgamma(n - i + 1) + i * odds for i in range(k + 1))
    return min(1.0, sum(exp(term) for term in terms))
