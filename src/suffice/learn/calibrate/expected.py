"""Estimates how likely each pair of thresholds is to pass its test, on the rows used for ordering.

Counts of wrong answers in few rows are noisy, and the best of hundreds of pairs is often just the
luckiest. So a logistic regression on the log-odds of both scores smooths the counts first. If the
model fits badly, fewer thresholds are certified, but the guarantee still holds.
"""

from __future__ import annotations

import numpy as np

from suffice.learn.calibrate.table import Grid, Table
from suffice.pvalues import Flags, Numbers

_SURE = 1e-4
_RIDGE = 1.0
_STEPS = 25


def expected_errors(table: Table) -> Numbers:
    """The probability that each row is wrong, from a logistic regression on the allowed rows."""
    features = np.column_stack(
        [np.ones(len(table)), _log_odds(table.gate), _log_odds(table.confidence)]
    )
    rows = table.allowed
    weights = np.ones(len(table)) if table.weights is None else table.weights / table.weights.mean()
    return _chance(features @ _fit(features[rows], table.wrong[rows], weights[rows]))


def strength(
    table: Table, grid: Grid, alpha: float, rows: int, false_withhold: float | None = None
) -> Numbers:
    """How many standard errors below its limit each threshold pair's error rate is expected to be,
    in a test on `rows` rows. If false withholding is also limited, the smaller margin."""
    served, wrong = table.served(grid), expected_errors(table)
    found = _margin(table, served, wrong, alpha, rows)
    if false_withhold is None:
        return found
    right = 1 - wrong
    withheld = (~served * right).sum(axis=-1) / max(float(right.sum()), 1e-9)
    count = max(rows * float(right.mean()), 1e-9)
    spread = np.sqrt(false_withhold * (1 - false_withhold) / count)
    return np.asarray(np.minimum(found, (false_withhold - withheld) / spread))


def _margin(table: Table, served: Flags, wrong: Numbers, alpha: float, rows: int) -> Numbers:
    weights = np.ones(len(table)) if table.weights is None else table.weights
    total = (served * weights).sum(axis=-1)
    errors = (served * weights * wrong).sum(axis=-1)
    rate = np.divide(errors, total, out=np.ones_like(total), where=total > 0)
    count = np.maximum(table.share(served) * rows, 1e-9)
    return np.asarray((alpha - rate) * np.sqrt(count / (alpha * (1 - alpha))))


def _log_odds(scores: Numbers) -> Numbers:
    inside = np.clip(scores, _SURE, 1 - _SURE)
    return np.asarray(np.log(inside / (1 - inside)))


def _chance(odds: Numbers) -> Numbers:
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))))


def _fit(features: Numbers, wrong: Flags, weights: Numbers) -> Numbers:
    """Ridge logistic regression by Newton's method; the intercept is not penalised."""
    penalty = _RIDGE * np.eye(features.shape[1])
    penalty[0, 0] = 1e-3
    own = np.zeros(features.shape[1])
    for _ in range(_STEPS):
        chance = _chance(features @ own)
        curve = features.T @ (features * (weights * chance * (1 - chance))[:, None]) + penalty
        slope = features.T @ (weights * (wrong - chance)) - penalty @ own
        step = np.linalg.solve(curve, slope)
        own = own + step
        if np.abs(step).max() < 1e-8:
            break
    return own
