"""Statistics of scores against labels. Pure functions: arrays in, numbers out, None if undefined.

`scores` are the estimated probabilities that rows are positive (supported, sufficient); `positive`
holds the labels. No figure depends on the order of the rows, ties included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
Flags = NDArray[np.bool_]


def auroc(scores: Scores, positive: Flags) -> float | None:
    """The probability that a positive row scores above a negative one; ties count half. Needs both
    classes."""
    good, bad = int(positive.sum()), int((~positive).sum())
    if not good or not bad:
        return None
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    return float((ranks[positive].sum() - good * (good + 1) / 2) / (good * bad))


def accuracy(passed: Flags, positive: Flags) -> float | None:
    """The share of rows judged correctly."""
    return float((passed == positive).mean()) if len(passed) else None


def balanced_accuracy(passed: Flags, positive: Flags) -> float | None:
    """The mean of the accuracies on both classes. Needs both classes."""
    if positive.all() or not positive.any():
        return None
    return float((passed[positive].mean() + (~passed[~positive]).mean()) / 2)


def f1_flagged(passed: Flags, positive: Flags) -> float | None:
    """F1 of the negative class: rows that did not pass are flagged."""
    either = int((~passed).sum() + (~positive).sum())
    return 2 * int((~passed & ~positive).sum()) / either if either else None


def precision_flagged(passed: Flags, positive: Flags) -> float | None:
    """The share of flagged rows that are negative. Needs a flagged row."""
    return float((~positive[~passed]).mean()) if not passed.all() else None


def recall_flagged(passed: Flags, positive: Flags) -> float | None:
    """The share of the negative rows that were flagged. Needs a negative row."""
    return float((~passed[~positive]).mean()) if not positive.all() else None


def coverage_at_risk(scores: Scores, positive: Flags, risk: float) -> float | None:
    """The largest share of rows that a threshold can accept with at most `risk` of them negative.

    Tied rows pass together or not at all.
    """
    if not len(scores):
        return None
    values, place = np.unique(-scores, return_inverse=True)
    passed = np.cumsum(np.bincount(place, minlength=len(values)))
    wrong = np.cumsum(np.bincount(place[~positive], minlength=len(values)))
    allowed = passed[wrong / passed <= risk]
    return float(allowed.max() / len(scores)) if len(allowed) else 0.0


def risk_coverage(scores: Scores, positive: Flags) -> tuple[Scores, Scores]:
    """The risk-coverage curve as (coverage, risk), one point per row.

    Tied rows get the expected risk of a random order among them.
    """
    values, place, sizes = np.unique(-scores, return_inverse=True, return_counts=True)
    wrong = np.bincount(place[~positive], minlength=len(values))
    before = np.cumsum(sizes) - sizes, np.cumsum(wrong) - wrong
    each = np.concatenate([np.arange(1, size + 1) for size in sizes])
    group = np.repeat(np.arange(len(values)), sizes)
    passed = before[0][group] + each
    return passed / len(scores), (before[1][group] + each * (wrong / sizes)[group]) / passed


def area_under_risk(scores: Scores, positive: Flags) -> float | None:
    """The mean risk over all coverages (AURC): lower is better."""
    if not len(scores):
        return None
    return float(risk_coverage(scores, positive)[1].mean())


def calibration_error(scores: Scores, positive: Flags, bins: int = 15) -> float | None:
    """Expected calibration error over bins of equal mass; tied rows share a bin."""
    if not len(scores):
        return None
    place = np.searchsorted(np.sort(scores), scores, side="left")
    gaps = np.bincount(place * bins // len(scores), weights=scores - positive, minlength=bins)
    return float(np.abs(gaps).sum() / len(scores))


def rounded(value: float | None) -> float | None:
    """A figure as it is reported."""
    return None if value is None else round(value, 4)


def mean_of(rows: Iterable[Mapping[str, Any]], name: str) -> float | None:
    """The mean of a figure over the rows that have it."""
    defined = [row[name] for row in rows if row[name] is not None]
    return rounded(fmean(defined)) if defined else None
