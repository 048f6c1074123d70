"""The statistics against closed forms and brute force, ties and single classes included."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.lab.eval.figures import (
    Flags,
    Scores,
    accuracy,
    auroc,
    balanced_accuracy,
    calibration_error,
    coverage_at_risk,
    f1_flagged,
)

Sample = tuple[Scores, Flags]
NONE: Sample = (np.array([], dtype=np.float64), np.array([], dtype=np.bool_))

# Few values, so that ties are common.
few = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])
rows = st.lists(st.tuples(few | st.floats(0, 1), st.booleans()), min_size=1, max_size=60)
samples = rows.map(lambda found: sample(*zip(*found, strict=True)))


def sample(scores: tuple[float, ...], positive: tuple[bool, ...]) -> Sample:
    return np.array(scores, dtype=np.float64), np.array(positive, dtype=np.bool_)


def test_measures_by_hand() -> None:
    scores, positive = sample((0.9, 0.8, 0.8, 0.1), (True, True, False, False))
    assert auroc(scores, positive) == 3.5 / 4
    passed = scores >= 0.8
    assert accuracy(passed, positive) == 0.75
    assert balanced_accuracy(passed, positive) == 0.75
    assert f1_flagged(passed, positive) == pytest.approx(2 / 3)
    assert coverage_at_risk(scores, positive, 0.05) == 0.25
    assert coverage_at_risk(scores, positive, 0.34) == 0.75
    assert calibration_error(scores, positive) == pytest.approx((0.1 + 0.6 + 0.1) / 4)


@given(samples)
def test_auroc_is_the_share_of_pairs_in_the_right_order(drawn: Sample) -> None:
    scores, positive = drawn
    pairs = [(good, bad) for good in scores[positive] for bad in scores[~positive]]
    found = auroc(scores, positive)
    if not pairs:
        assert found is None
        return
    assert found == pytest.approx(
        sum(1.0 if good > bad else 0.5 if good == bad else 0.0 for good, bad in pairs) / len(pairs)
    )


@given(samples, few)
def test_measures_at_a_threshold(drawn: Sample, threshold: float) -> None:
    scores, positive = drawn
    passed = scores >= threshold
    caught = sum(1 for p, t in zip(passed, positive, strict=True) if not p and not t)
    flagged, bad = int((~passed).sum()), int((~positive).sum())
    f1 = f1_flagged(passed, positive)
    if caught:
        precision, recall = caught / flagged, caught / bad
        assert f1 == pytest.approx(2 * precision * recall / (precision + recall))
    else:
        assert f1 == (0.0 if flagged or bad else None)
    balanced = balanced_accuracy(passed, positive)
    if 0 < bad < len(positive):
        right = int((passed & positive).sum()) / (len(positive) - bad)
        assert balanced == pytest.approx((right + caught / bad) / 2)
    else:
        assert balanced is None


@given(samples)
def test_f1_of_flagging_everything(drawn: Sample) -> None:
    _, positive = drawn
    bad = float((~positive).mean())
    assert f1_flagged(np.zeros_like(positive), positive) == pytest.approx(2 * bad / (1 + bad))


@given(samples, st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_coverage_is_the_best_of_all_thresholds(drawn: Sample, risk: float) -> None:
    scores, positive = drawn
    best = 0.0
    for threshold in scores:
        passed = scores >= threshold
        if (~positive[passed]).mean() <= risk:
            best = max(best, float(passed.mean()))
    assert coverage_at_risk(scores, positive, risk) == pytest.approx(best)


def test_coverage_takes_the_risk_to_its_limit() -> None:
    """One in twenty is 5 %, wherever the wrong one stands; the second is too many."""
    for wrong in range(20):
        positive = np.array([place not in (wrong, 20) for place in range(21)])
        assert coverage_at_risk(np.linspace(1, 0, 21), positive, 0.05) == pytest.approx(20 / 21)


def test_coverage_goes_on_after_an_early_mistake() -> None:
    positive = np.array([False] + [True] * 39)
    assert coverage_at_risk(np.linspace(1, 0, 40), positive, 0.05) == 1.0


@given(st.floats(0, 1), st.lists(st.booleans(), min_size=1, max_size=60))
def test_calibration_error_of_a_constant(score: float, truth: list[bool]) -> None:
    positive = np.array(truth)
    found = calibration_error(np.full(len(truth), score), positive)
    assert found == pytest.approx(abs(score - float(positive.mean())), abs=1e-9)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=15, unique=True))
def test_calibration_error_of_perfect_probabilities(levels: list[int]) -> None:
    """Of 20 rows that score k/20, k are positive: nothing is off, in whatever bins."""
    scores = np.repeat([level / 20 for level in levels], 20)
    positive = np.concatenate([np.arange(20) < level for level in levels])
    assert calibration_error(scores, positive) == pytest.approx(0, abs=1e-9)


def test_calibration_error_of_calibrated_draws_and_of_certain_ones() -> None:
    draw = np.random.default_rng(1)
    scores = draw.random(30_000)
    positive = draw.random(30_000) < scores
    calibrated = calibration_error(scores, positive)
    assert calibrated is not None
    assert calibrated < 0.02
    # Pushed to certainty, each half is off by a quarter.
    certain = calibration_error((scores > 0.5).astype(np.float64), positive)
    assert certain == pytest.approx(0.25, abs=0.02)


def test_calibration_bins_are_of_equal_mass() -> None:
    """150 rows are 15 bins of ten; tens of one truth take turns, so that other bins differ."""
    scores = np.sort(np.random.default_rng(2).random(150) ** 4)
    positive = np.arange(150) // 10 % 2 == 0
    bins = [slice(first, first + 10) for first in range(0, 150, 10)]
    gaps = [abs(scores[one].mean() - positive[one].mean()) for one in bins]
    assert calibration_error(scores, positive) == pytest.approx(sum(gaps) / 15)


@pytest.mark.parametrize(
    "figure",
    [auroc, lambda s, p: coverage_at_risk(s, p, 0.05), calibration_error],
)
@given(samples)
def test_the_order_of_rows_does_not_matter(
    figure: Callable[[Scores, Flags], float | None], drawn: Sample
) -> None:
    scores, positive = drawn
    order = np.random.default_rng(len(scores)).permutation(len(scores))
    one, other = figure(scores, positive), figure(scores[order], positive[order])
    assert one == (None if other is None else pytest.approx(other))


def test_no_rows_have_no_figures() -> None:
    assert auroc(*NONE) is None
    assert coverage_at_risk(*NONE, 0.05) is None
    assert calibration_error(*NONE) is None
    empty = NONE[1]
    assert [f(empty, empty) for f in (accuracy, balanced_accuracy, f1_flagged)] == [None] * 3
