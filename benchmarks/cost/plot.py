"""Plots how cost grows: one panel per series, as multiples of the smallest size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Figures = Mapping[str, Any]
TOGETHER = {"log_page": "log", "log_append": "log"}
"""Series that share a panel."""
_OURS, _SECOND, _LINEAR = "#0b62a3", "#c2571a", "#767676"
_COLUMNS = 3


def plot_cost(figures: Figures, path: Path) -> None:
    """Write the plot as the suffix of `path` says. Needs matplotlib, from the extra `bench`."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "suffice", "font.size": 9})
    from matplotlib import pyplot

    panels = _panels(figures["series"])
    rows = -(-len(panels) // _COLUMNS)
    figure, axes = pyplot.subplots(
        rows, _COLUMNS, figsize=(9.6, 2.9 * rows), layout="constrained", squeeze=False
    )
    for plot in axes.flat[len(panels) :]:
        plot.set_visible(False)
    for plot, members in zip(axes.flat, panels, strict=False):
        _panel(plot, members)
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=150, metadata=metadata)
    pyplot.close(figure)


def _panels(series: Mapping[str, Figures]) -> list[list[Figures]]:
    panels: dict[str, list[Figures]] = {}
    for name, one in series.items():
        panels.setdefault(TOGETHER.get(name, name), []).append(one)
    return list(panels.values())


def _panel(plot: Any, members: list[Figures]) -> None:
    first = members[0]
    sizes = [point["size"] for point in first["points"]]
    linear = [size / sizes[0] for size in sizes]
    plot.plot(sizes, linear, "--", color=_LINEAR, linewidth=1, label="proportional")
    for one, colour, mark in zip(members, (_OURS, _SECOND), "os", strict=False):
        ratios = [point["ratio"] for point in one["points"]]
        plot.plot(sizes, ratios, f"{mark}-", color=colour, linewidth=2, label=one["value"])
    _scale(plot, sizes, [point["ratio"] for one in members for point in one["points"]])
    plot.set_title(first["title"], loc="left", fontsize=10, fontweight="bold")
    plot.set_xlabel(first["size"])
    plot.set_ylabel("times the smallest")
    plot.grid(alpha=0.25)
    plot.spines[["top", "right"]].set_visible(False)
    plot.legend(edgecolor="none", framealpha=1, fontsize=8, loc="upper left")


def _scale(plot: Any, sizes: list[int], ratios: list[float]) -> None:
    """Logarithmic, with the measured values in the lower two thirds, so that a flat line looks
    flat and the legend has room."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    plot.set_xscale("log")
    plot.set_yscale("log")
    plot.xaxis.set_major_locator(FixedLocator(sizes))
    plot.xaxis.set_minor_locator(NullLocator())
    plot.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _size(value)))
    plot.set_ylim(min(0.7, 0.8 * min(ratios)), max(10.0, 3 * max(ratios)))
    plot.yaxis.set_major_locator(FixedLocator([0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]))
    plot.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    plot.yaxis.set_minor_formatter(NullFormatter())
    plot.yaxis.set_minor_locator(NullLocator())


def _size(value: float) -> str:
    for unit, short in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{short}"
    return f"{value:g}"
