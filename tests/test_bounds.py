"""Bounds against their closed forms, and by simulation: each misses the mean no oftener than it
says, and the naive ones do. Every simulation is seeded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, log, sqrt
from random import Random
from statistics import fmean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.bounds import (
    HALF_RANGE,
    Adaptive,
    Azuma,
    Bernstein,
    Betting,
    EmpiricalBernstein,
    Hoeffding,
    Inequality,
    Margin,
    Sample,
    lower_bound,
    more_needed,
)

DELTA = 0.1
TRIALS = 400
Draw = Callable[[Random], float]

SOUND = (Hoeffding(), Azuma(), EmpiricalBernstein(), Betting())
BEST = Adaptive(SOUND)
ALL = (*SOUND, Azuma(None), Bernstein(), Bernstein(0.04), BEST)
scores = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_hoeffding_in_closed_form() -> None:
    sample = Sample.of([0.5] * 8)
    assert Hoeffding().margin(sample, 0.05).epsilon == pytest.approx(sqrt(log(40) / 16))
    assert lower_bound(Hoeffding(), sample, 0.05).lower == pytest.approx(0.5 - sqrt(log(40) / 16))


def test_the_unclipped_bound_may_be_under_0() -> None:
    bound = lower_bound(Hoeffding(), Sample.of([0.1, 0.1]), 0.05)
    assert bound.lower == 0.0
    assert bound.unclipped == pytest.approx(0.1 - sqrt(log(40) / 4))


def test_azuma_in_closed_form() -> None:
    sample = Sample.of([0.5] * 8)
    assert Azuma(0.2).margin(sample, 0.05).epsilon == pytest.approx(0.2 * sqrt(2 * log(40) / 8))
    assert (
        Azuma(HALF_RANGE).margin(sample, 0.05).epsilon == Hoeffding().margin(sample, 0.05).epsilon
    )
    assert "given" in Azuma(0.2).margin(sample, 0.05).note


def test_an_estimated_c_is_the_largest_surprise_and_is_said() -> None:
    sample = Sample.of([0.6, 0.5, 0.25])  # 0.1 under 0.6, then 0.3 under 0.55
    assert Azuma(None).margin(sample, 0.05).epsilon == pytest.approx(0.3 * sqrt(2 * log(40) / 3))
    assert Azuma(None).margin(sample, 0.05).note == "c = 0.300, estimated from these scores"
    assert (
        Azuma(None).margin(Sample.of([0.9]), 0.05).epsilon
        == Azuma().margin(Sample.of([0.9]), 0.05).epsilon
    )
    assert Azuma(None).margin(Sample.of([0.0, 1.0]), 0.05).epsilon == pytest.approx(
        sqrt(log(40) / 4)
    )


def test_bernstein_in_closed_form() -> None:
    sample = Sample.of([0.4, 0.6, 0.8])
    known = sqrt(2 * 0.01 * log(40) / 3) + log(40) / 9
    assert Bernstein(0.01).margin(sample, 0.05).epsilon == pytest.approx(known)
    estimated = sqrt(2 * 0.04 * log(40) / 3) + log(40) / 9
    assert Bernstein().margin(sample, 0.05).epsilon == pytest.approx(estimated)
    assert "estimated" in Bernstein().margin(sample, 0.05).note
    assert "given" in Bernstein(0.01).margin(sample, 0.05).note


def test_empirical_bernstein_in_closed_form() -> None:
    sample = Sample.of([0.4, 0.6, 0.8])
    expected = sqrt(2 * 0.04 * log(40) / 3) + 7 * log(40) / 6
    assert EmpiricalBernstein().margin(sample, 0.05).epsilon == pytest.approx(expected)
    assert EmpiricalBernstein().margin(Sample.of([0.9]), 0.05).epsilon == 1.0


def test_betting_all_on_every_score_in_closed_form() -> None:
    """With the one share 1 the capital is ∏ x/m: it reaches 1/δ at the nth root of δ ∏ x."""
    sample = Sample.of([0.5, 0.8, 0.9])
    expected = (0.05 * 0.5 * 0.8 * 0.9) ** (1 / 3)
    assert lower_bound(Betting((1.0,)), sample, 0.05).lower == pytest.approx(expected)


def test_betting_spreads_its_capital() -> None:
    sample, m = Sample.of([0.5, 0.8]), 0.25
    capital = fmean((1 + share) * (1 + share * 2.2) for share in (0.5, 1.0))
    assert exp(Betting((0.5, 1.0)).log_capital(sample, m)) == pytest.approx(capital)
    assert lower_bound(Betting((1.0,)), Sample.of([0.0, 1.0]), 0.05).lower == 0.0


def test_adaptive_takes_the_best_at_its_share_of_delta() -> None:
    sample = Sample.of([0.5, 0.55, 0.6, 0.5])
    bound = lower_bound(Adaptive((Hoeffding(), Betting(), Bernstein(0.01))), sample, 0.06)
    each = [rule.margin(sample, 0.02).epsilon for rule in (Hoeffding(), Betting(), Bernstein(0.01))]
    assert bound.epsilon == min(each)
    assert bound.note == "betting was the best of 3, each at δ/3"


def test_betting_is_the_strongest_for_few_scores() -> None:
    for spread in ([0.5, 0.45, 0.4], [0.8, 0.7, 0.75, 0.9, 0.6], [0.6] * 10, [0.2, 0.9, 0.5] * 4):
        sample = Sample.of(spread)
        strongest = lower_bound(Betting(), sample, 0.05).lower
        others = (Hoeffding(), Azuma(), EmpiricalBernstein())
        assert strongest > max(lower_bound(rule, sample, 0.05).lower for rule in others)


# By simulation.


def two_point(p: float) -> Draw:
    return lambda random: float(random.random() < p)


def beta(a: float, b: float) -> Draw:
    return lambda random: random.betavariate(a, b)


SOURCES: dict[str, tuple[Draw, float]] = {
    "rarely 0": (two_point(0.85), 0.85),
    "rarely 1": (two_point(0.1), 0.1),
    "even": (two_point(0.5), 0.5),
    "flat": (beta(1, 1), 0.5),
    "like cosines": (beta(20, 30), 0.4),
    "skewed": (beta(0.5, 0.1), 5 / 6),
}


def misses(rule: Inequality, draw: Draw, mean: float, n: int, seed: int = 7) -> float:
    """How often the bound is over the mean the scores are drawn from."""
    random = Random(seed)
    samples = (Sample.of([draw(random) for _ in range(n)]) for _ in range(TRIALS))
    return fmean(lower_bound(rule, sample, DELTA).lower > mean + 1e-9 for sample in samples)


def no_oftener(share: float) -> float:
    """The promised share, and three standard errors of a simulation that keeps it exactly."""
    return share + 3 * sqrt(share * (1 - share) / TRIALS)


@pytest.mark.parametrize("rule", [*SOUND, BEST], ids=lambda rule: rule.name)
@pytest.mark.parametrize("source", SOURCES)
def test_a_bound_misses_no_oftener_than_it_says(rule: Inequality, source: str) -> None:
    draw, mean = SOURCES[source]
    for n in (3, 10):
        assert misses(rule, draw, mean, n) <= no_oftener(DELTA)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.85])
def test_bernstein_keeps_its_word_where_the_variance_is_known(p: float) -> None:
    for n in (3, 10):
        assert misses(Bernstein(p * (1 - p)), two_point(p), p, n) <= no_oftener(DELTA)


class Normal:
    """What many use: the mean less 1.28 standard errors."""

    name = "normal"

    def margin(self, sample: Sample, delta: float) -> Margin:
        return Margin(1.28 * stdev(sample.scores) / sqrt(sample.n))


@pytest.mark.parametrize("rule", [Normal(), Bernstein(), Azuma(None)], ids=lambda rule: rule.name)
def test_what_estimates_its_spread_and_does_not_pay_for_it_breaks_its_word(
    rule: Inequality,
) -> None:
    """Ten scores of which none happens to be the rare 0: no spread is seen, so none is feared."""
    draw, mean = SOURCES["rarely 0"]
    assert misses(rule, draw, mean, 10) > no_oftener(DELTA)


def dependent(random: Random, n: int) -> list[float]:
    """Each score has mean .7 whatever came before, but swings wide only after a high one."""
    drawn = [1.0]
    for _ in range(n):
        wide = drawn[-1] >= 0.7
        high = random.random() < (0.7 if wide else 0.5)
        drawn.append(float(high) if wide else 0.75 if high else 0.65)
    return drawn[1:]


def test_azuma_and_betting_hold_for_scores_that_hang_on_those_before() -> None:
    random = Random(3)
    drawn = [dependent(random, 10) for _ in range(TRIALS)]
    assert fmean(fmean(each) for each in drawn) == pytest.approx(0.7, abs=0.01)
    for rule in (Azuma(), Betting()):
        bounds = [lower_bound(rule, Sample.of(each), DELTA).lower for each in drawn]
        assert fmean(bound > 0.7 for bound in bounds) <= no_oftener(DELTA)


@pytest.mark.parametrize("rule", [Hoeffding(), Azuma(), Betting()], ids=lambda rule: rule.name)
def test_the_top_of_a_ranking_is_no_sample(rule: Inequality) -> None:
    """What no bound promises: the best 10 of 200 say nothing of the mean of the 200."""
    random = Random(5)
    over = 0
    for _ in range(200):
        best = sorted((random.random() for _ in range(200)), reverse=True)[:10]
        over += lower_bound(rule, Sample.of(best), DELTA).lower > 0.5
    assert over / 200 > 0.9


# How many more.


def test_more_needed_in_closed_form() -> None:
    sample = Sample.of([0.6, 0.6, 0.6])
    needed = log(40) / (2 * (0.6 - 0.3) ** 2)  # 20.49: 21 in all
    assert more_needed(Hoeffding(), sample, 0.05, 0.3) == 18 == int(needed) + 1 - 3
    azuma = 2 * 0.25**2 * log(40) / 0.3**2  # 5.1: 6 in all
    assert more_needed(Azuma(0.25), sample, 0.05, 0.3) == 3 == int(azuma) + 1 - 3
    betting = log(20) / log(0.6 / 0.3)  # ∏ x/m reaches 20 at m = .3 with 4.3: 5 in all
    assert more_needed(Betting((1.0,)), sample, 0.05, 0.3) == 2 == int(betting) + 1 - 3


def test_nothing_more_is_needed_where_the_bound_clears() -> None:
    assert more_needed(Hoeffding(), Sample.of([0.9] * 30), 0.05, 0.3) == 0
    assert more_needed(Hoeffding(), Sample.of([0.1]), 0.05, 0.0) == 0


def test_no_number_will_do_at_or_under_the_threshold() -> None:
    assert more_needed(Hoeffding(), Sample.of([0.3] * 5), 0.05, 0.3) is None
    assert more_needed(Hoeffding(), Sample.of([0.300001] * 5), 0.05, 0.3) is None


@given(scores, st.sampled_from(ALL), st.floats(0.05, 0.9))
def test_more_needed_is_the_first_number_that_does(
    drawn: list[float], rule: Inequality, tau: float
) -> None:
    sample = Sample.of(drawn)
    more = more_needed(rule, sample, 0.05, tau)
    if more is None:
        assert lower_bound(rule, sample, 0.05).lower < tau
    else:
        assert lower_bound(rule, sample.grown(sample.n + more), 0.05).lower >= tau
    if more:
        assert lower_bound(rule, sample.grown(sample.n + more - 1), 0.05).lower < tau


# Of every bound.


@given(scores, st.sampled_from(ALL), st.floats(1e-6, 0.5))
def test_a_bound_lies_between_nothing_and_the_mean(
    drawn: list[float], rule: Inequality, delta: float
) -> None:
    bound = lower_bound(rule, Sample.of(drawn), delta)
    assert 0 <= bound.lower <= bound.mean <= 1
    assert bound.n == len(drawn)
    assert bound.unclipped == bound.mean - bound.epsilon
    assert bound.lower == max(bound.unclipped, 0)


@given(scores, st.sampled_from(ALL))
def test_more_certainty_costs(drawn: list[float], rule: Inequality) -> None:
    sample = Sample.of(drawn)
    sure, unsure = (lower_bound(rule, sample, delta).lower for delta in (0.01, 0.2))
    assert sure <= unsure


@given(st.permutations([0.1, 0.4, 0.4, 0.8, 0.95]))
def test_the_order_does_not_matter_to_those_that_assume_none(order: Sequence[float]) -> None:
    sorted_sample = Sample.of(sorted(order))
    for rule in (Hoeffding(), EmpiricalBernstein(), Betting()):
        here = rule.margin(Sample.of(order), 0.05).epsilon
        assert here == pytest.approx(rule.margin(sorted_sample, 0.05).epsilon, abs=1e-9)


@pytest.mark.parametrize("wrong", [[], [1.2], [-0.1], [float("nan")]])
def test_a_sample_is_scores_from_0_to_1(wrong: list[float]) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Sample.of(wrong)
