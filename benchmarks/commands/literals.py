"""`python -m benchmarks literals`: measure how well the literals check detects changed values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli import as_json as to_json
from suffice.cli.show import plain

_ROWS = (
    ("edits", "one number, date or unit changed", "caught"),
    ("rewordings", "the same value in other words", "flagged"),
)


@click.command()
@click.argument("data", type=click.Path(path_type=Path), required=False)
@click.option("--n", type=click.IntRange(1, 100_000), default=200, help="Number of cases per kind.")
@click.option("--seed", type=int, default=0, help="Random seed for generating the cases.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def literals(data: Path | None, n: int, seed: int, as_json: bool) -> int:
    """Measure how well the literals check detects changed values without false alarms.

    Generates claims with one number, date or unit changed, and claims that express the same value
    in other words. The claims come from templates, or from the supported claims of DATA (rows as in
    `bench grounding`).
    """
    from benchmarks.literals import bench_literals

    figures = bench_literals(data, n, seed)
    if as_json:
        to_json.show(figures)
    else:
        _show(figures)
    return 0


def _show(figures: dict[str, Any]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("claims with", "n", "flagged", "target"):
        table.add_column(name, justify="left" if name == "claims with" else "right", no_wrap=True)
    for key, label, outcome in _ROWS:
        if key not in figures:
            continue
        row, wanted = figures[key], figures["wanted"][outcome]
        bound = "or more" if outcome == "caught" else "or less"
        table.add_row(label, str(row["n"]), _percent(row["share"]), f"{wanted:.0%} {bound}")
        for kind, share in row["by"].items():
            if len(row["by"]) > 1:
                table.add_row(f"  {kind}", "", _percent(share), "")
    console = Console()
    console.print(table)
    for key, label, _ in _ROWS:
        for case in figures.get(key, {}).get("wrong", ())[:3]:
            text = f"{label}: {case['claim']} (correct: {case['right']})"
            console.print(plain(text), markup=False, highlight=False)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"
