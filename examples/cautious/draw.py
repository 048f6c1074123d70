"""Plots of the experiment: how wide the bounds are, and error against answer rate."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from experiment import DELTA, inequalities

from suffice.bounds import Sample
from suffice.lab.eval.figures import risk_coverage

mpl.use("svg")
mpl.rcParams["svg.hashsalt"] = "suffice"
_SIZE = (6.4, 3.8)


def draw(found: Mapping[str, Any], folder: Path) -> None:
    _margins(found, folder / "cautious-margins.svg")
    _errors(found, folder / "cautious-errors.svg")


def _margins(found: Mapping[str, Any], path: Path) -> None:
    """What each inequality takes off the mean, by the number of passages, at the measured
    variance."""
    variance = float(np.mean([own["variance"] for own in found["k"].values()]))
    spread = variance**0.5
    figure, axes = plt.subplots(figsize=_SIZE)
    numbers = [2, 3, 5, 8, 12, 20, 30, 43, 60, 90, 130, 200]
    for name, rule in inequalities(variance).items():
        samples = [
            Sample.of([0.5 + (-spread if i % 2 else spread) for i in range(n)]) for n in numbers
        ]
        margins = [min(rule.margin(sample, DELTA).epsilon, 1.0) for sample in samples]
        style = "--" if name == "azuma" else "-"
        axes.plot(numbers, margins, style, label=name, linewidth=1.4)
    axes.axvline(found["break_even"], color="grey", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="passages", ylabel="ε, taken off the mean", ylim=(0, 1))
    axes.set_title(f"Width of the bounds, δ = {DELTA:g}, variance {variance:.4f}", fontsize=10)
    _save(figure, axes, path)


def _errors(found: Mapping[str, Any], path: Path) -> None:
    """Error among the answered against the share answered, over all thresholds; rules that rank
    the samples alike share a line."""
    figure, axes = plt.subplots(figsize=_SIZE)
    k, own = next((k, own) for k, own in found["k"].items() if len(own["rules"]) > 5)
    truth = np.array(own["enough"])
    curves: dict[tuple[float, ...], list[str]] = {}
    for name, row in own["rules"].items():
        _, risk = risk_coverage(np.array(row["scores"]), truth)
        curves.setdefault(tuple(risk.round(6)), []).append(name)
    shares = np.arange(1, len(truth) + 1) / len(truth)
    for risks, names in curves.items():
        (line,) = axes.plot(shares, risks, label=" / ".join(names), linewidth=1.4)
        for row in map(own["rules"].__getitem__, names):
            if row["error"] is not None:
                axes.plot(row["answer_rate"], row["error"], "o", color=line.get_color())
    axes.set(xlabel="share answered", ylabel="share of these without enough evidence")
    axes.set_title(f"k = {k}; dots: at the threshold of the rule", fontsize=10)
    _save(figure, axes, path)


def _save(figure: Any, axes: Any, path: Path) -> None:
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
