"""Plots of the gate's policies, as PNG and SVG. Needs matplotlib, from the extra `bench`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import ExtraMissing
from suffice.eval.figures import Flags, balanced_accuracy, risk_coverage
from suffice.eval.gate import WITHOUT, Decided

_GRID = np.linspace(0, 1, 101)


def need_plots() -> None:
    """Fail early if matplotlib is missing, before minutes are spent on figures."""
    if find_spec("matplotlib") is None:
        raise ExtraMissing("A plot", "bench")


def plot_gate(
    decided: Mapping[str, Decided], positive: Flags, sets: Sequence[str], folder: Path
) -> list[Path]:
    """Plot risk against coverage, and balanced accuracy against the threshold: one line per policy,
    the unweighted mean of the sets."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = [np.flatnonzero(np.array(sets) == name) for name in dict.fromkeys(sets)]
    curves = {name: _risk(found, positive, groups) for name, found in decided.items()}
    made = _plot(
        curves,
        folder / "gate-risk-coverage",
        ("share of questions answered", "share of these without enough evidence"),
        "Risk against coverage, mean of the sets",
    )
    turns = {name: _sensitivity(found, positive, groups) for name, found in decided.items()}
    return made + _plot(
        turns,
        folder / "gate-threshold",
        ("threshold on the policy's own score", "balanced accuracy"),
        "What a threshold does, mean of the sets",
    )


def _risk(found: Decided, positive: Flags, groups: Sequence[Any]) -> np.ndarray[Any, Any]:
    """The risk on a common grid of coverages; the curve of each set is extended at its ends."""
    lines = []
    for rows in groups:
        coverage, risk = risk_coverage(found.scores[rows], positive[rows])
        lines.append(np.interp(_GRID, coverage, risk))
    return np.asarray(np.mean(lines, axis=0))


def _sensitivity(found: Decided, positive: Flags, groups: Sequence[Any]) -> np.ndarray[Any, Any]:
    lines = [
        [balanced_accuracy(found.scores[rows] >= at, positive[rows]) or 0.5 for at in _GRID]
        for rows in groups
    ]
    return np.asarray(np.mean(lines, axis=0))


def _plot(
    curves: Mapping[str, np.ndarray[Any, Any]],
    path: Path,
    axes: tuple[str, str],
    title: str,
) -> list[Path]:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "suffice"  # deterministic output
    from matplotlib import pyplot

    figure, plot = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for name, curve in curves.items():
        first = name == "learned"
        plot.plot(
            _GRID,
            curve,
            label=name,
            linewidth=2.6 if first else 1.4,
            linestyle="--" if name == WITHOUT else "-",
            zorder=3 if first else 2,
        )
    plot.set_xlabel(axes[0])
    plot.set_ylabel(axes[1])
    plot.set_title(title, loc="left")
    plot.set_xlim(0, 1)
    plot.grid(alpha=0.25)
    plot.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    made = [path.with_suffix(suffix) for suffix in (".png", ".svg")]
    for file in made:
        figure.savefig(file, dpi=150, metadata={"Date": None} if file.suffix == ".svg" else None)
    pyplot.close(figure)
    return made
