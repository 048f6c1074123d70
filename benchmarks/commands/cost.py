"""`python -m benchmarks cost`: measure how cost grows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli.progress import bars
from suffice.lab.eval.gate import need_plots
from suffice.settings import read_settings

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
@click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
@click.option("--quiet", is_flag=True, help="No progress bars.")
def cost(
    quick: bool,
    million: bool,
    parts: tuple[str, ...],
    output: Path,
    plot: Path,
    repeats: int | None,
    config: str | None,
    quiet: bool,
) -> int:
    """Measure how time grows with answers, evidence, index, log and workers, and plot it.

    Every figure is a multiple of the smallest size in the same run. Takes about 8 minutes.
    """
    from benchmarks.cost.bench import QUICK, Plan, bench_cost
    from benchmarks.cost.plot import plot_cost
    from suffice.models.catalog import open_embedder, open_verifier

    need_plots()
    settings = read_settings(config)
    plan = replace(QUICK if quick else Plan(), parts=parts or _PARTS)
    if repeats:
        plan = replace(plan, repeats=repeats)
    if million:
        plan = replace(plan, index=(*plan.index, 1_000_000))
    with bars(quiet=quiet) as progress:
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
    console = Console()
    for series in figures["series"].values():
        console.print(_table(series))
    console.print(f"Written to {output} and {plot}", highlight=False, soft_wrap=True)
    return 0


def merged(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The new series in place of the old ones, in the order of a whole run."""
    series = {**before["series"], **after["series"]}
    return {**after, "series": {name: series[name] for name in SERIES if name in series}}


def _table(series: dict[str, Any]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(f"{series['title']}: {series['value']}, times the smallest")
    for point in series["points"]:
        table.add_column(f"{point['size']:,}", justify="right", no_wrap=True)
    table.add_row(series["size"], *(f"{point['ratio']:g}" for point in series["points"]))
    return table
