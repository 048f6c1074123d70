"""The test keeps its level however often it is looked at, and finds late and small changes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from suffice.bounds import at_most
from suffice.lab.monitor.metrics import Martingale, Side, cells_of

LEVEL = 0.01
Array = NDArray[np.float64]


def confidences(normal: Array) -> Array:
    scores: Array = 1 / (1 + np.exp(-1.5 - normal))
    return scores


def first_alarm(reference: Array, live: Array, side: Side, seed: int) -> Array:
    """The step at which each run rejects; infinite if it does not."""
    ties = np.random.default_rng(seed).random(live.shape)
    _, wealth = Martingale.of(side, reference).after(live, ties)
    over = wealth >= 1 / LEVEL
    return np.where(over.any(axis=1), over.argmax(axis=1) + 1, np.inf)


def test_false_alarms_stay_within_the_level() -> None:
    draw = np.random.default_rng(300)
    runs = 500
    reference, live = draw.normal(size=(runs, 300)), draw.normal(size=(runs, 2000))
    alarms = first_alarm(confidences(reference), confidences(live), Side.BOTH, 1) <= 2000
    # Rejected if so many alarms are too unlikely at the level.
    assert 1 - at_most(int(alarms.sum()) - 1, runs, LEVEL) > 0.001


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_half_sigma_shift_after_500_is_found_within_500_more(sign: int) -> None:
    draw = np.random.default_rng(5)
    reference, live = draw.normal(size=(200, 500)), draw.normal(size=(200, 1000))
    live[:, 500:] += 0.5 * sign
    found = first_alarm(confidences(reference), confidences(live), Side.BOTH, 2)
    assert np.mean((found > 500) & (found <= 1000)) >= 0.9


def test_rates_are_tested_too() -> None:
    draw = np.random.default_rng(3)
    same = (draw.random((100, 2500)) < 0.1).astype(float)
    assert np.mean(first_alarm(same[:, :2000], same[:, 2000:], Side.UP, 4) < np.inf) <= 0.05
    doubled = (draw.random((100, 1000)) < 0.2).astype(float)
    assert np.mean(first_alarm(same[:, :2000], doubled, Side.UP, 4) < np.inf) >= 0.9
    assert np.mean(first_alarm(same[:, :2000], doubled, Side.DOWN, 4) < np.inf) <= 0.05


def test_a_look_after_every_score_without_the_martingale_breaks_the_level() -> None:
    """What the test is for: a t-test that is repeated after every score alarms far too often."""
    draw = np.random.default_rng(9)
    reference, live = draw.normal(size=(200, 500)), draw.normal(size=(200, 2000))
    n = np.arange(1, 2001)
    means = live.cumsum(axis=1) / n - reference.mean(axis=1, keepdims=True)
    z = np.abs(means) / np.sqrt(1 / n + 1 / 500)
    assert np.mean((z[:, 30:] > 2.576).any(axis=1)) > 5 * LEVEL


def test_batches_and_single_scores_give_the_same_state() -> None:
    draw = np.random.default_rng(11)
    reference, live, ties = draw.random(50), draw.random(20), draw.random(20)
    whole, wealth = Martingale.of(Side.DOWN, reference).after(live, ties)
    step = Martingale.of(Side.DOWN, reference)
    for score, tie in zip(live, ties, strict=True):
        step, last = step.after([score], [tie])
    assert step.capital == pytest.approx(whole.capital)
    assert last[-1] == pytest.approx(wealth[-1]) == pytest.approx(float(whole.wealth))
    assert (step.counts == whole.counts).all()
    assert float(whole.restarted().wealth) == 1
    assert Martingale.of(Side.UP).after([0.5], [0.5])[0].steps == 1


def test_scores_at_the_ends_have_cells() -> None:
    assert cells_of([0.0, 1.0]).tolist() == [0, 239]
    assert cells_of([0.5])[0] in (119, 120)
