"""`python -m benchmarks calibration`: certified thresholds on simulated answers."""

from __future__ import annotations

import click
from rich import box
from rich.table import Table

from benchmarks.calibration import WORLDS, measure
from suffice.cli.figures import print_figures
from suffice.cli.options import Options, shared


@click.command()
@click.option("--runs", type=click.IntRange(min=1), default=500, show_default=True)
@click.option(
    "--scores",
    "worlds",
    type=click.Choice(list(WORLDS)),
    multiple=True,
    default=tuple(WORLDS),
    help="How the two simulated scores are related (repeatable; default: both).",
)
@shared("as_json")
def calibration(options: Options, runs: int, worlds: tuple[str, ...]) -> int:
    """Count how often certified thresholds break their promise, and how much they serve. MAPIE is
    compared if it is installed."""
    found = measure(runs, worlds)
    table = Table(box=box.SIMPLE_HEAD)
    rates = ("certified", "broken", "served")
    for title in ("scores", "limit", "δ", "labels", "method", "runs", *rates):
        table.add_column(title)
    for case in found["cases"]:
        for name, own in case["methods"].items():
            numbers = (case["world"], case["alpha"], case["delta"], case["n"])
            shares = (f"{own[one]:.1%}" for one in rates)
            table.add_row(*map(str, numbers), name, str(own["runs"]), *shares)
    print_figures(found, [table], as_json=options.as_json)
    return 0
