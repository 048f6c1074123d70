"""`python -m benchmarks literals`: measure how well the literals check detects changed values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType

from suffice.cli.figures import figures_table, percent, print_figures
from suffice.cli.options import Options, shared
from suffice.cli.show import plain

_ROWS = (
    ("edits", "one number, date or unit changed", "caught"),
    ("rewordings", "the same value in other words", "flagged"),
)


@click.command()
@click.argument("data", type=click.Path(path_type=Path), required=False)
@click.option("--n", type=click.IntRange(1, 100_000), default=200, help="Number of cases per kind.")
@click.option("--seed", type=int, default=0, help="Random seed for generating the cases.")
@shared("as_json")
def literals(options: Options, data: Path | None, n: int, seed: int) -> int:
    """Measure how well the literals check detects changed values without false alarms.

    Generates claims with one number, date or unit changed, and claims that express the same value
    in other words. The claims come from templates, or from the supported claims of DATA (rows as in
    `bench grounding`).
    """
    from benchmarks.literals import bench_literals

    figures = bench_literals(data, n, seed)
    print_figures(figures, _show(figures), as_json=options.as_json)
    return 0


def _show(figures: dict[str, Any]) -> Iterator[RenderableType]:
    table = figures_table("claims with", "n", "flagged", "target")
    for key, label, outcome in _ROWS:
        if key not in figures:
            continue
        row, wanted = figures[key], figures["wanted"][outcome]
        bound = "or more" if outcome == "caught" else "or less"
        table.add_row(label, str(row["n"]), percent(row["share"]), f"{wanted:.0%} {bound}")
        for kind, share in row["by"].items():
            if len(row["by"]) > 1:
                table.add_row(f"  {kind}", "", percent(share), "")
    yield table
    for key, label, _ in _ROWS:
        for case in figures.get(key, {}).get("wrong", ())[:3]:
            text = f"{label}: {case['claim']} (correct: {case['right']})"
            yield plain(text)
