"""Certified thresholds on simulated answers: how often the promise is broken, how much is served,
compared with a naive choice and with MAPIE's risk control, if MAPIE is installed.

MAPIE controls the precision of a binary classifier, which is one minus the error rate among the
served, with the same family of methods (Learn-then-Test). It is no dependency of this project.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from statistics import fmean
from typing import Any

import numpy as np

from benchmarks.simulated import World, halves, naive
from suffice.bounds import Flags
from suffice.lab.calibrate.scores import Grid, Table
from suffice.lab.calibrate.select import Promise, fixed_sequence

CASES = ((0.05, 0.05, 500), (0.1, 0.1, 200))
"""The limit on errors, δ and the number of labels."""
SLOW, FEW = "split_fixed_sequence", 50
"""A method of MAPIE that takes more than a second a run, and its number of runs at most."""
WORLDS = {
    "uncorrelated": World(correlation=0.0, base=3.0),
    "correlated": World(correlation=0.9, base=2.0),
}
GRID = Grid.product(np.linspace(0, 0.95, 8).tolist(), np.linspace(0, 0.98, 20).tolist())
Pair = tuple[float, float] | None
Choose = Callable[[Table, Flags, float, float], Pair]


def ours(table: Table, selection: Flags, alpha: float, delta: float) -> Pair:
    return fixed_sequence(table, selection, GRID, Promise(alpha, delta)).thresholds


def empirical(table: Table, selection: Flags, alpha: float, delta: float) -> Pair:
    return naive(table, GRID, alpha)


def mapie(method: str) -> Choose:
    """MAPIE with precision as the performance, and the positive predictions as what to maximise."""

    def choose(table: Table, selection: Flags, alpha: float, delta: float) -> Pair:
        from mapie.risk_control import (
            BinaryClassificationController,
            precision,
            predicted_positive_fraction,
        )

        features = np.column_stack([table.gate, table.confidence, table.allowed])
        right = (~table.wrong).astype(int)
        params = np.column_stack([GRID.gate, GRID.confidence])
        control = BinaryClassificationController(
            _predict,
            precision,
            1 - alpha,
            1 - delta,
            best_predict_param_choice=predicted_positive_fraction,
            list_predict_params=params,
            fwer_method=method,
        )
        if method == SLOW:
            control.learn_fixed_sequence_order(features[selection], right[selection])
            control.calibrate(features[~selection], right[~selection])
        else:
            control.calibrate(features, right)
        valid = np.atleast_2d(np.asarray(control.valid_predict_params))
        if not valid.size:
            return None
        served = table.share(table.served(Grid(valid[:, 0], valid[:, 1])))
        best = valid[int(np.argmax(served))]
        return float(best[0]), float(best[1])

    return choose


def _predict(rows: Any, gate: float, confidence: float) -> Any:
    served = (rows[:, 0] >= gate) & (rows[:, 1] >= confidence) & (rows[:, 2] > 0)
    return served.astype(int)


def measure(runs: int, worlds: Sequence[str] = tuple(WORLDS)) -> dict[str, Any]:
    """The figures of every method in every case."""
    methods: dict[str, Choose] = {"suffice": ours, "empirical optimum": empirical}
    if find_spec("mapie"):
        for name in (SLOW, "bonferroni_holm"):
            methods[f"MAPIE, {name}"] = mapie(name)
    cases = []
    for world, (alpha, delta, n) in ((w, c) for w in worlds for c in CASES):
        figures = {
            name: _figures(world, n, choose, alpha, delta, min(runs, FEW) if SLOW in name else runs)
            for name, choose in methods.items()
        }
        cases.append({"world": world, "alpha": alpha, "delta": delta, "n": n, "methods": figures})
    try:
        known: str | None = version("mapie")
    except PackageNotFoundError:
        known = None
    return {"runs": runs, "mapie": known, "cases": cases}


def _figures(
    world: str, n: int, choose: Choose, alpha: float, delta: float, runs: int
) -> Mapping[str, float]:
    truth = WORLDS[world].truth()
    broken = certified = 0
    served = []
    for seed in range(runs):
        table = WORLDS[world].draw(n, seed)
        pair = choose(table, halves(n, seed + 10**6), alpha, delta)
        certified += pair is not None
        broken += pair is not None and truth.error(pair) > alpha
        served.append(truth.coverage(pair) if pair else 0.0)
    return {
        "runs": runs,
        "certified": certified / runs,
        "broken": broken / runs,
        "served": round(fmean(served), 4),
    }
