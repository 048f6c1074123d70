"""Tests of "at most a share α of the served answers is wrong", for many thresholds at once.

The share is a ratio, P(wrong and served) / P(served), and so is its estimate. Two tests are valid
for any number of rows:

    binomial    for rows of equal weight. Given the number of served rows, the number of wrong rows
                among them is binomial. The exact tail is the most powerful test.
    betting     for weighted rows. If the share is above α, the mean of (wrong − α)·served·weight is
                above 0, so capital that bets on lower values is not expected to grow and reaches
                1/p with probability at most p (Waudby-Smith and Ramdas 2024). The largest weight
                limits the bet. It must be known before the rows are drawn, because a rarely sampled
                group, with its errors, may be missing from the rows.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from suffice.bounds import at_most

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
    capital = np.stack([_log_growth(gains, share / largest) for share in SHARES])
    best = capital.max(axis=0)
    mixed = best + np.log(np.exp(capital - best).mean(axis=0))
    return np.asarray(np.exp(-np.maximum(mixed, 0.0)))


def _log_growth(gains: Numbers, bet: float) -> Numbers:
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
