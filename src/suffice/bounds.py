"""Lower confidence bounds on the mean of scores in [0, 1], and the binomial distribution. Pure
statistics, standard library only.

If the scores satisfy the assumption of an inequality, their expected value is below its bound with
probability at most δ:

    Hoeffding           ε = √(ln(2/δ) / 2n)                           independent
    Azuma               ε = c √(2 ln(2/δ) / n)                        mean does not drift, range 2c
    Bernstein           ε = √(2σ² ln(2/δ) / n) + ln(2/δ) / 3n         independent, known σ²
    EmpiricalBernstein  ε = √(2s² ln(2/δ) / n) + 7 ln(2/δ) / 3(n−1)   i.i.d.
    Betting             by bisection                                  mean does not drift

"Does not drift" means that each score has the same mean, given the scores before it.
The first three are two-sided, hence the 2; the last two are lower bounds only. If `c` or σ² is
estimated from the scores themselves, the bound is not guaranteed, and the note says "estimated".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, lgamma, log, sqrt
from statistics import fmean
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

HALF_RANGE = 0.5
"""Half the width of [0, 1]: the `c` that is valid for any scores in this range (Hoeffding's
lemma)."""
_LARGEST_VARIANCE = 0.25
_MOST = 1_000_000
_STEPS = 30


@dataclass(frozen=True, slots=True)
class Sample:
    """Scores in [0, 1], in the order they were drawn. If `n` exceeds their number, the sample is
    extrapolated with the same mean and variance."""

    scores: tuple[float, ...]
    n: int

    @classmethod
    def of(cls, scores: Sequence[float]) -> Sample:
        if not scores or not all(0 <= score <= 1 for score in scores):
            raise ValueError("a sample is one or more scores from 0 to 1")
        return cls(tuple(scores), len(scores))

    @property
    def mean(self) -> float:
        return fmean(self.scores)

    @property
    def variance(self) -> float:
        """The unbiased estimate; for a single score, the largest possible variance."""
        if len(self.scores) < 2:
            return _LARGEST_VARIANCE
        mean = self.mean
        return sum((score - mean) ** 2 for score in self.scores) / (len(self.scores) - 1)

    @property
    def surprise(self) -> float:
        """The largest distance of a score from the mean of those before it."""
        if len(self.scores) < 2:
            return HALF_RANGE
        places = range(1, len(self.scores))
        return max(abs(self.scores[i] - fmean(self.scores[:i])) for i in places)

    def grown(self, n: int) -> Sample:
        return Sample(self.scores, n)


@dataclass(frozen=True, slots=True)
class Margin:
    """The amount to subtract from the mean; `note` says what was estimated, or which inequality was
    chosen."""

    epsilon: float
    note: str = ""


class Inequality(Protocol):
    """An inequality that gives a lower bound: mean − ε."""

    @property
    def name(self) -> str: ...

    def margin(self, sample: Sample, delta: float) -> Margin: ...


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower confidence bound on a mean, with the values it was computed from."""

    name: str
    n: int
    mean: float
    epsilon: float
    delta: float
    note: str = ""

    @property
    def lower(self) -> float:
        """mean − ε, but at least 0, because no mean of scores in [0, 1] is negative."""
        return max(self.unclipped, 0.0)

    @property
    def unclipped(self) -> float:
        """mean − ε without clipping: a negative value shows how far the scores are from a useful
        bound."""
        return self.mean - self.epsilon


def lower_bound(inequality: Inequality, sample: Sample, delta: float) -> Bound:
    """The bound that an inequality gives for these scores."""
    margin = inequality.margin(sample, delta)
    return Bound(inequality.name, sample.n, sample.mean, margin.epsilon, delta, margin.note)


def more_needed(inequality: Inequality, sample: Sample, delta: float, tau: float) -> int | None:
    """How many more scores with the same mean and variance would raise the bound to τ. `None` if no
    number would, or only more than a million."""

    def clears(more: int) -> bool:
        return lower_bound(inequality, sample.grown(sample.n + more), delta).lower >= tau

    if clears(0):
        return 0
    return first_where(clears) if sample.mean > tau else None


def first_where(holds: Callable[[int], bool]) -> int | None:
    """The smallest number that satisfies a monotone condition; `None` if it exceeds a million."""
    high = 1
    while not holds(high):
        if high >= _MOST:
            return None
        high = min(high * 2, _MOST)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class Hoeffding:
    """For independent scores, whatever their spread (Hoeffding 1963)."""

    name: ClassVar[str] = "hoeffding"

    def margin(self, sample: Sample, delta: float) -> Margin:
        return Margin(sqrt(log(2 / delta) / (2 * sample.n)))


@dataclass(frozen=True, slots=True)
class Azuma:
    """For scores that may depend on earlier ones, as long as each has the same mean given those
    (Azuma 1967). `c` is half the width of the range of a score; `None`: estimated."""

    c: float | None = HALF_RANGE
    name: ClassVar[str] = "azuma"

    def margin(self, sample: Sample, delta: float) -> Margin:
        c = min(sample.surprise, HALF_RANGE) if self.c is None else self.c
        return Margin(c * sqrt(2 * log(2 / delta) / sample.n), f"c = {c:.3f}, {self._origin}")

    @property
    def _origin(self) -> str:
        if self.c is None:
            return "estimated from these scores"
        return "given" if self.c < HALF_RANGE else "which holds for any scores in [0, 1]"


@dataclass(frozen=True, slots=True)
class Bernstein:
    """For independent scores with a small, known variance (Bernstein 1924). If it is `None`, the
    sample variance is used, so the result is an estimate and not a bound."""

    variance: float | None = None
    name: ClassVar[str] = "bernstein"

    def margin(self, sample: Sample, delta: float) -> Margin:
        variance = sample.variance if self.variance is None else self.variance
        origin = "estimated from these scores" if self.variance is None else "given"
        spread = sqrt(2 * variance * log(2 / delta) / sample.n)
        epsilon = spread + log(2 / delta) / (3 * sample.n)
        return Margin(epsilon, f"variance {variance:.4f}, {origin}")


@dataclass(frozen=True, slots=True)
class EmpiricalBernstein:
    """For independent, identically distributed scores of unknown variance (Maurer and Pontil 2009,
    theorem 4). The larger last term accounts for estimating the variance."""

    name: ClassVar[str] = "empirical-bernstein"

    def margin(self, sample: Sample, delta: float) -> Margin:
        if sample.n < 2:
            return Margin(1.0, "the variance of one score is unknown")
        spread = sqrt(2 * sample.variance * log(2 / delta) / sample.n)
        return Margin(spread + 7 * log(2 / delta) / (3 * (sample.n - 1)))


@dataclass(frozen=True, slots=True)
class Betting:
    """The tightest bound for few scores (Waudby-Smith and Ramdas 2024, one-sided, grid of bets).

    To test a mean m, bet on higher scores: a bet of a share f of the capital multiplies it by
    1 + f (x/m − 1) for a score x. If m is the mean, the capital stays 1 in expectation, so it
    reaches 1/δ with probability at most δ; every m for which it does is ruled out. The capital is
    split over fixed shares beforehand, so the order of the scores does not matter.
    """

    shares: tuple[float, ...] = (1 / 16, 1 / 4, 1 / 2, 3 / 4, 1)
    name: ClassVar[str] = "betting"

    def margin(self, sample: Sample, delta: float) -> Margin:
        """Capital falls as m rises, so bisect to the largest m that is ruled out."""
        low, high = 0.0, sample.mean
        for _ in range(_STEPS):
            middle = (low + high) / 2
            if middle == 0:
                break
            ruled_out = self.log_capital(sample, middle) >= -log(delta)
            low, high = (middle, high) if ruled_out else (low, middle)
        return Margin(sample.mean - low)

    def log_capital(self, sample: Sample, m: float) -> float:
        times = sample.n / len(sample.scores)
        logs = [times * _log_growth(sample.scores, m, share) for share in self.shares]
        best = max(logs)
        if best == -inf:
            return best
        return best + log(sum(exp(value - best) for value in logs) / len(logs))


def _log_growth(scores: Sequence[float], m: float, share: float) -> float:
    """The log of the capital after betting this share on every score; −∞ if all is lost."""
    factors = [1 - share + share * score / m for score in scores]
    return sum(map(log, factors)) if min(factors) > 0 else -inf


@dataclass(frozen=True, slots=True)
class Adaptive:
    """The best of k inequalities, each at δ/k, so that the error probability stays at most δ."""

    inequalities: tuple[Inequality, ...]
    name: ClassVar[str] = "adaptive"

    def margin(self, sample: Sample, delta: float) -> Margin:
        k = len(self.inequalities)
        margins = {rule.name: rule.margin(sample, delta / k) for rule in self.inequalities}
        best = min(margins, key=lambda name: margins[name].epsilon)
        best_of = f"{best} was the best of {k}, each at δ/{k}"
        notes = (best_of, margins[best].note)
        return Margin(margins[best].epsilon, "; ".join(note for note in notes if note))


def at_most(k: int, n: int, p: float) -> float:
    """P(Binomial(n, p) ≤ k), for 0 < p < 1."""
    if k < 0:
        return 0.0
    if k >= n:
        return 1.0
    whole, odds = lgamma(n + 1) + n * log(1 - p), log(p) - log(1 - p)
    terms = (whole - lgamma(i + 1) - lgamma(n - i + 1) + i * odds for i in range(k + 1))
    return min(1.0, sum(exp(term) for term in terms))


Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SHARES = tuple(2.0 ** (-step / 2) for step in range(15))
"""Bets as shares of the largest safe bet. The capital is divided among them beforehand."""
_ROUNDING = 1e-9


def binomial_tail(wrong: npt.ArrayLike, served: npt.ArrayLike, share: float) -> Numbers:
    """P(Binomial(served, share) ≤ wrong), elementwise; 1 where nothing is served."""
    k, n = np.broadcast_arrays(np.asarray(wrong, np.int64), np.asarray(served, np.int64))
    most = int(n.max(initial=0))
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    odds, rest = np.log(share) - np.log1p(-share), np.log1p(-share)
    total = np.zeros(k.shape)
    for i in range(int(k.max(initial=0)) + 1):
        inside = (i <= k) & (i <= n)
        left = np.where(inside, n - i, 0)
        term = logs[n] - logs[min(i, most)] - logs[left] + i * odds + n * rest
        total += np.where(inside, np.exp(np.minimum(term, 0.0)), 0.0)
    return np.where(k >= n, 1.0, np.minimum(total, 1.0))


def betting(gains: Numbers, largest: float) -> Numbers:
    """The p-value of "the mean is at least 0" for each row of `gains`; no gain exceeds
    `largest`."""
    capital = np.stack([_log_wealth_growth(gains, share / largest) for share in SHARES])
    best = capital.max(axis=0)
    mixed = best + np.log(np.exp(capital - best).mean(axis=0))
    return np.asarray(np.exp(-np.maximum(mixed, 0.0)))


def _log_wealth_growth(gains: Numbers, bet: float) -> Numbers:
    with np.errstate(divide="ignore"):  # betting everything can lose everything
        growth = np.log(np.maximum(1.0 - bet * gains, 0.0)).sum(axis=-1)
    return np.asarray(np.maximum(growth, -1e300))


def ratio_test(
    hit: Flags, among: Flags, share: float, weights: Numbers | None, largest: float = 1.0
) -> Numbers:
    """The p-value of "more than `share` of the rows `among` are `hit`", for each row of two
    boolean matrices. If `weights` is `None`, all rows count the same. `largest` is the largest
    weight that any row could have had, sampled or not."""
    if weights is None:
        hits, rows = (hit & among).sum(axis=-1), among.sum(axis=-1)
        hopeless = hits > share * rows  # the exact p-value is about .5 or more, and slow to compute
        return np.where(hopeless, 1.0, binomial_tail(np.where(hopeless, 0, hits), rows, share))
    if weights.max(initial=0.0) > largest * (1 + _ROUNDING):
        raise ValueError(f"A weight is {weights.max():g}, above the largest possible {largest:g}.")
    gains = (hit - share) * among * weights
    return betting(gains, largest * (1 - share))


def interval(hits: int, rows: int, confidence: float = 0.95) -> tuple[float, float]:
    """The Clopper-Pearson interval of a share; (0, 1) without rows."""
    risk = (1 - confidence) / 2
    low = 0.0 if hits <= 0 else _where(lambda p: 1 - at_most(hits - 1, rows, p) > risk)
    high = 1.0 if hits >= rows else _where(lambda p: at_most(hits, rows, p) < risk)
    return low, high


def _where(beyond: Callable[[float], bool]) -> float:
    """The smallest share for which a monotone condition holds, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return (low + high) / 2
