"""`suffice bench literals`: does the check see a changed value, and only that?"""

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
@click.option("--n", type=click.IntRange(1, 100_000), default=200, help="Cases of each sort.")
@click.option("--seed", type=int, default=0, help="The same seed makes the same cases.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def literals(data: Path | None, n: int, seed: int, as_json: bool) -> int:
    """Does the literals check see a value that was changed, and only that?

    Makes claims with one number, date or unit changed, and claims that say the same value in other
    words: from templates, or from the supported claims of DATA, with rows as in `bench grounding`.
    """
    from suffice.bench.literals import bench_literals

    figures = bench_literals(data, n, seed)
    if as_json:
        to_json.show(figures)
    else:
        _show(figures)
    return 0


def _show(figures: dict[str, Any]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("claims with", "n", "against", "wanted"):
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
            said = f"{label}: {case['claim']} (right: {case['right']})"
            console.print(plain(said), markup=False, highlight=False)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"
