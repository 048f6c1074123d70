"""The error estimate against known truth: unbiased mean, valid interval."""

from __future__ import annotations

import random
from dataclasses import replace
from math import comb
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.bounds import at_most
from suffice.log.log import Sampler
from suffice.review.labels import Estimate, Stratum, estimate
from tests.log import examples as some

SERVED = replace(some.VERDICT, gate=replace(some.GATE, signals=()))
NEAR = some.VERDICT  # its gate's score is 0.62, and it is held against 0.5


@given(n=st.integers(0, 40), k=st.integers(-2, 45), p=st.floats(0.01, 0.99))
def test_the_distribution_is_the_binomial(n: int, k: int, p: float) -> None:
    truth = sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(min(k, n) + 1))
    assert at_most(k, n, p) == pytest.approx(truth, abs=1e-12)


def chances(n: int, p: float) -> list[float]:
    return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def outcomes(wrong: int, right: int, p: float) -> list[tuple[float, Stratum]]:
    """All possible samples with their probability."""
    return [
        (one * other, Stratum(p, wrong + right, w + r, w + r, w))
        for w, one in enumerate(chances(wrong, p))
        for r, other in enumerate(chances(right, p))
    ]


@settings(max_examples=60, deadline=None)
@given(
    wrong=st.integers(0, 12),
    right=st.integers(1, 12),
    p=st.floats(0.05, 0.95),
    confidence=st.sampled_from([0.5, 0.9, 0.95]),
)
def test_unbiased_and_covering_over_all_draws(
    wrong: int, right: int, p: float, confidence: float
) -> None:
    truth = wrong / (wrong + right)
    found = [(q, estimate([one], confidence)) for q, one in outcomes(wrong, right, p)]
    assert sum(q * (one.rate or 0) for q, one in found) == pytest.approx(truth, abs=1e-9)
    held = sum(q for q, one in found if one.low - 1e-12 <= truth <= one.high + 1e-12)
    assert held >= confidence - 1e-9


@given(
    st.lists(
        st.tuples(st.floats(0.01, 1), *[st.integers(0, 30)] * 4).map(
            lambda t: Stratum(t[0], sum(t[1:]), sum(t[1:4]), sum(t[1:3]), t[1])
        ),
        max_size=4,
    )
)
def test_the_interval_holds_what_is_known_for_sure(strata: list[Stratum]) -> None:
    found = estimate(strata)
    assert 0 <= found.low <= found.high <= 1
    if found.population:
        assert found.low >= found.wrong / found.population - 1e-9
        assert found.high <= 1 - (found.judged - found.wrong) / found.population + 1e-9
        if found.rate is not None and found.rate <= found.high:
            assert found.low <= found.rate + 1e-9 or found.drawn > found.judged


def drawn(sampler: Sampler, wrong: int, right: int, near_wrong: int) -> list[Stratum]:
    """Simulated served answers, sampled as the log does, with all sampled ones judged."""
    counts: dict[float, list[int]] = {}
    answers = [(SERVED, True)] * wrong + [(SERVED, False)] * right + [(NEAR, True)] * near_wrong
    for verdict, is_wrong in answers:
        draw = sampler.verdict(verdict)
        one = counts.setdefault(draw.probability, [0, 0, 0])
        one[0] += 1
        one[1] += bool(draw.why)
        one[2] += bool(draw.why) and is_wrong
    return [Stratum(p, n, seen, seen, bad) for p, (n, seen, bad) in counts.items()]


def simulated(times: int = 400) -> list[Estimate]:
    sampler = Sampler(0.2, margin=0.2, chance=random.Random(5).random)
    return [estimate(drawn(sampler, 20, 160, 20)) for _ in range(times)]


def test_simulated_with_what_is_always_chosen_among_it() -> None:
    truth = 40 / 200
    found = simulated()
    assert {one.population for one in found} == {200}
    assert fmean(one.rate or 0 for one in found) == pytest.approx(truth, abs=0.006)
    assert fmean(one.low <= truth <= one.high for one in found) >= 0.95
    naive = fmean(one.wrong / one.judged for one in found)  # without the probabilities
    assert naive > 2 * truth


def test_what_nobody_judged_widens_the_interval() -> None:
    judged = estimate([Stratum(0.5, 100, 50, 50, 5)])
    half = estimate([Stratum(0.5, 100, 50, 25, 5)])
    none = estimate([Stratum(0.5, 100, 50, 0, 0)])
    assert half.rate == 2 * (judged.rate or 0) == 0.2
    assert half.high > judged.high
    assert (none.rate, none.low) == (None, 0)
    assert none.high > 0.9


def test_where_nothing_is_known_nothing_is_claimed() -> None:
    assert estimate([]) == Estimate(None, 0, 1, 0.95, 0, 0, 0, 0)
    never = estimate([Stratum(0, 10, 0, 0, 0), Stratum(1, 10, 10, 10, 1)])
    assert never.rate is None
    assert (never.low, never.high) == (1 / 20, 11 / 20)
    seen = estimate([Stratum(1, 10, 10, 10, 1)])
    assert (seen.rate, seen.low, seen.high) == (0.1, 0.1, 0.1)


def test_no_error_among_few_is_no_proof() -> None:
    found = estimate([Stratum(0.01, 10_000, 100, 100, 0)])
    assert found.rate == 0
    assert 0.02 < found.high < 0.04  # three or four of a hundred might have been missed


@pytest.mark.parametrize(
    "wrong", [(0.5, 1, 2, 2, 2), (0.5, 5, 2, 3, 1), (2, 5, 2, 2, 1), (0, 5, 1, 1, 1)]
)
def test_what_cannot_be_is_refused(wrong: tuple[float, int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="inconsistent"):
        Stratum(*wrong)
    with pytest.raises(ValueError, match="confidence"):
        estimate([], 1.0)
