"""`python -m benchmarks cost`: measure how cost grows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from suffice.cli.figures import figures_table, print_figures
from suffice.cli.options import Options, shared
from suffice.lab.eval.gate import need_plots

_ROOT = Path(__file__).parents[2]
_PARTS = ("checks", "index", "log", "workers")
SERIES = ("answer", "passages", "context", "index", "log_page", "log_append", "workers")


@click.command()
@click.option("--quick", is_flag=True, help="Tiny sizes, to try the command in seconds.")
@click.option(
    "--million",
    is_flag=True,
    help="Also an index of 1,000,000 passages: 15 minutes, 15 GB of disk.",
)
@click.option(
    "--only",
    "parts",
    multiple=True,
    type=click.Choice(_PARTS),
    help="Measure only this part and keep the others in OUTPUT (repeatable).",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=_ROOT / "docs" / "results" / "cost.json",
    help="File for the figures (default: docs/results/cost.json).",
)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    default=_ROOT / "docs" / "images" / "cost.svg",
    help="File for the plot, SVG or PNG (default: docs/images/cost.svg).",
)
@click.option("--repeats", type=click.IntRange(1), help="Repeats of each check (default: 3).")
@shared("config", "quiet")
def cost(
    options: Options,
    quick: bool,
    million: bool,
    parts: tuple[str, ...],
    output: Path,
    plot: Path,
    repeats: int | None,
) -> int:
    """Measure how time grows with answers, evidence, index, log and workers, and plot it.

    Every figure is a multiple of the smallest size in the same run. Takes about 8 minutes.
    """
    from benchmarks.cost.bench import QUICK, Plan, bench_cost
    from benchmarks.cost.plot import plot_cost
    from suffice.models.catalog import open_embedder, open_verifier

    need_plots()
    settings = options.settings
    plan = replace(QUICK if quick else Plan(), parts=parts or _PARTS)
    if repeats:
        plan = replace(plan, repeats=repeats)
    if million:
        plan = replace(plan, index=(*plan.index, 1_000_000))
    with options.progress() as progress:
        figures = bench_cost(
            open_verifier(settings.verifier, "fast"),
            open_embedder(settings.embedder),
            plan,
            progress,
        )
    if parts and output.exists():
        figures = merged(json.loads(output.read_text(encoding="utf-8")), figures)
    output.write_text(json.dumps(figures, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    plot_cost(figures, plot)
    tables = map(_table, figures["series"].values())
    print_figures(figures, (*tables, f"Written to {output} and {plot}"))
    return 0


def merged(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The new series in place of the old ones, in the order of a whole run."""
    series = {**before["series"], **after["series"]}
    return {**after, "series": {name: series[name] for name in SERIES if name in series}}


def _table(series: dict[str, Any]) -> Table:
    measured = f"{series['title']}: {series['value']}, times the smallest"
    table = figures_table(measured, *(f"{point['size']:,}" for point in series["points"]))
    table.add_row(series["size"], *(f"{point['ratio']:g}" for point in series["points"]))
    return table
