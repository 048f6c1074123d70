"""The promise, by simulation: over many calibrations it is broken no more often than it says, and a
naive choice of thresholds breaks it often."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt

import numpy as np
import pytest

from benchmarks.simulated import Truth, World, halves, naive
from suffice.bounds import betting, ratio_test
from suffice.lab.calibrate.scores import Grid, Table
from suffice.lab.calibrate.select import (
    Promise,
    Run,
    Selected,
    bonferroni,
    fixed_sequence,
    level_of,
)

RUNS = 500
STEPS = 6
WORLDS = {
    "uncorrelated": World(correlation=0.0, base=3.0),
    "correlated": World(correlation=0.9, base=2.0),
}


@cache
def truth(world: str) -> Truth:
    return WORLDS[world].truth()


def most(delta: float, runs: int = RUNS) -> float:
    """δ plus three standard errors of the simulation."""
    return delta + 3 * sqrt(delta * (1 - delta) / runs)


def calibrated(table: Table, seed: int, promise: Promise, grid: Grid | None = None) -> Selected:
    selection = halves(len(table), seed + 10**6)
    grid = grid or Grid.of(table.rows(selection), (0.0, 0.0), gated=True, steps=STEPS)
    return fixed_sequence(table, selection, grid, promise)


def simulate(
    world: str, n: int, choose: Callable[[Table, int], tuple[float, float] | None], alpha: float
) -> tuple[float, float]:
    """The share of runs in which thresholds are chosen, and in which they break the promise."""
    made = [choose(WORLDS[world].draw(n, seed), seed) for seed in range(RUNS)]
    pairs = [pair for pair in made if pair is not None]
    broken = sum(truth(world).error(pair) > alpha for pair in pairs)
    return len(pairs) / RUNS, broken / RUNS


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize(("alpha", "delta", "n"), [(0.05, 0.05, 500), (0.1, 0.1, 200)])
def test_the_promise_is_kept_and_a_naive_choice_breaks_it(
    world: str, alpha: float, delta: float, n: int
) -> None:
    promise = Promise(alpha, delta)
    grid = Grid.product(np.linspace(0, 0.95, 8).tolist(), np.linspace(0, 0.98, 20).tolist())
    chosen, broken = simulate(
        world, n, lambda table, seed: calibrated(table, seed, promise, grid).thresholds, alpha
    )
    assert broken <= most(delta)
    assert chosen > 0.5, "a test that certifies nothing proves nothing"
    _, careless = simulate(world, n, lambda table, _: naive(table, grid, alpha), alpha)
    assert careless > 3 * delta


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_the_promise_is_kept_where_every_threshold_breaks_it(delta: float) -> None:
    """Scores that tell nothing, and an error rate just over α: each certificate is wrong, so they
    must be as rare as promised. Without a part of the rows set apart for it, the choice among many
    pairs would break the promise."""
    rng, wrongly, alone = np.random.default_rng(3), 0, 0
    for seed in range(RUNS):
        gate, confidence = rng.random((2, 300))
        every = np.ones(300, np.bool_)
        table = Table(gate, confidence, every, rng.random(300) < 0.101)
        wrongly += calibrated(table, seed, Promise(0.1, delta)).best is not None
        grid = Grid.of(table, (0.0, 0.0), gated=True, steps=STEPS)
        alone += bool((Promise(0.1, delta).pvalues(table, grid) <= delta).any())
    assert wrongly / RUNS <= most(delta)
    assert alone / RUNS > 2 * most(delta), "testing all pairs at δ would break the promise"


def test_bonferroni_keeps_the_promise_too() -> None:
    rng, wrongly = np.random.default_rng(7), 0
    grid = Grid.product((0.0, 0.5), (0.0, 0.5))
    for _ in range(RUNS):
        gate, confidence = rng.random((2, 80))
        table = Table(gate, confidence, np.ones(80, np.bool_), rng.random(80) < 0.201)
        wrongly += bonferroni(table, grid, Promise(0.2, 0.1)).best is not None
    assert 0 < wrongly / RUNS <= most(0.1)


def test_weights_undo_a_selection_that_depends_on_the_score() -> None:
    """Rows with low scores are drawn more often. Without weights the error rate is misjudged."""
    rng, wrongly, without = np.random.default_rng(11), 0, 0
    for _ in range(RUNS):
        confidence = rng.random(1200)
        wrong = rng.random(1200) < np.where(confidence > 0.5, 0.2, 0.005)  # .1025 of all
        chance = np.where(confidence > 0.5, 0.2, 0.8)
        drawn = rng.random(1200) < chance
        every = np.ones(1200, np.bool_)
        table = Table(np.ones(1200), confidence, every, wrong, 1 / chance, 5.0).rows(drawn)
        grid = Grid(np.zeros(1), np.zeros(1))
        wrongly += bool(Promise(0.1, 0.1).pvalues(table, grid)[0] <= 0.1)
        bare = Table(table.gate, table.confidence, table.allowed, table.wrong)
        without += bool(Promise(0.1, 0.1).pvalues(bare, grid)[0] <= 0.1)
    assert wrongly / RUNS <= most(0.1)
    assert without / RUNS > 0.9


def test_a_group_that_happens_not_to_be_drawn_does_not_break_the_promise() -> None:
    """Half of the answers are always reviewed and right, the others are drawn with probability .01,
    and .11 of them are wrong. Often none of those is drawn, so the drawn rows look perfect."""
    rng, shape = np.random.default_rng(19), (2000, 300)
    rare = rng.random(shape) < 0.5
    wrong = rare & (rng.random(shape) < 0.11)
    drawn = ~rare | (rng.random(shape) < 0.01)
    weights = np.where(rare, 100.0, 1.0)
    kept = ratio_test(wrong, drawn, 0.05, weights, 100.0) <= 0.025
    assert kept.mean() <= most(0.025, 2000)
    lucky = ~(rare & drawn).any(axis=-1)
    seen = ratio_test(wrong[lucky], drawn[lucky], 0.05, np.ones(shape)[lucky], 1.0) <= 0.025
    assert seen.sum() / 2000 > 0.15, "the largest weight among the rows would break it"


def test_calibrating_again_and_again_spends_no_more_than_delta() -> None:
    """After each failure 60 more rows are labelled; the promise holds over all attempts."""
    wrong = np.random.default_rng(13).random((RUNS, 60 * 8)) < 0.101
    history: list[Run] = []
    spent, careless = np.zeros(RUNS, np.bool_), np.zeros(RUNS, np.bool_)
    for k in range(1, 9):
        some = wrong[:, : 60 * k]
        p = ratio_test(some, np.ones_like(some), 0.1, None)
        level, series = level_of(0.1, history, [["a"]] if k > 1 else [], ["a"])
        history.append(Run("", str(k), 60 * k, 0.1, 0.1, level, False, k == 1, series=series))
        spent, careless = spent | (p <= level), careless | (p <= 0.1)
    assert sum(run.level for run in history) <= 0.1
    assert spent.mean() <= most(0.1) < careless.mean()


def test_the_betting_capital_is_that_of_the_bounds() -> None:
    """The vectorised p-value and the scalar capital of `suffice.bounds` are the same bet."""
    from suffice.bounds import SHARES, Betting, Sample

    rng = np.random.default_rng(17)
    gains = np.where(rng.random((1, 100)) < 0.02, 0.9, -0.1)
    scores = (0.9 - gains[0]) / 1.0
    capital = Betting(SHARES).log_capital(Sample.of(scores.tolist()), 0.9)
    assert betting(gains, 0.9)[0] == pytest.approx(np.exp(-capital))
