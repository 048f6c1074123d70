"""`suffice bench gate`: compare gate policies on the same questions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli import as_json as to_json
from suffice.cli.progress import bars
from suffice.cli.show import plain
from suffice.cli.store_options import CONFIG, JSON, QUIET
from suffice.settings import read_settings

_COLUMNS = {
    "auroc": "AUROC",
    "balanced_accuracy": "bal.\nacc.",
    "open_rate": "open",
    "coverage_at_5": "served\nat 5 %\nrisk",
    "aurc": "AURC",
}


@click.command()
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "policies",
    multiple=True,
    default=("all",),
    help="Policy to measure, or all (repeatable; default: all).",
)
@click.option(
    "--tier",
    type=click.Choice(["fast", "strong", "llm"]),
    help="Verifier tier (default: from the settings).",
)
@click.option("--limit", type=click.IntRange(min=1), help="Rows of each set (default: all).")
@click.option("--plots", type=click.Path(path_type=Path), help="Folder for PNG and SVG plots.")
@CONFIG
@JSON
@QUIET
def gate(
    data: Path,
    policies: tuple[str, ...],
    tier: str | None,
    limit: int | None,
    plots: Path | None,
    config: str | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Measure how well each policy opens the gate only if the passages in DATA answer the question.

    DATA rows are {"set", "question", "evidence": [passage, …], "sufficient": true or false}; JSON
    lines, optionally gzipped. AURC is the area under the risk-coverage curve; lower is better.
    """
    import numpy as np

    from suffice.eval.gate import NAMES, bench_gate
    from suffice.eval.gate import policies as opened
    from suffice.eval.plots import need_plots, plot_gate
    from suffice.models.catalog import open_embedder, open_verifier

    unknown = [name for name in policies if name not in (*NAMES, "all")]
    if unknown:
        raise click.BadParameter(f"unknown policy '{unknown[0]}'; allowed: {', '.join(NAMES)}, all")
    if plots:
        need_plots()
    settings = read_settings(config)
    verifier = open_verifier(settings.verifier, tier or "", settings.draft)
    judges = opened(NAMES if "all" in policies else policies, settings.gate, verifier)
    with bars(quiet=quiet) as progress:
        embedder = open_embedder(settings.embedder)
        figures, decided, rows = bench_gate(data, judges, embedder, limit, progress)
    figures = {"tier": verifier.tier, "model": verifier.id, **figures}
    if plots:
        positive = np.array([bool(row["sufficient"]) for row in rows])
        plot_gate(decided, positive, [row["set"] for row in rows], plots)
    to_json.show(figures) if as_json else _show(figures)
    return 0


def _show(figures: Mapping[str, Any]) -> None:
    """Print one block per set with one line per policy, then the means."""
    by_policy = figures["policies"]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", overflow="ellipsis")
    for title in (*_COLUMNS.values(), "learned AURC\nminus this one"):
        table.add_column(title, justify="right", no_wrap=True)
    sets = list(next(iter(by_policy.values()))["sets"])
    for name in (*sets, "mean of sets"):
        table.add_section()
        table.add_row(plain(name), style="bold")
        for policy, found in by_policy.items():
            row = found["means"] if name == "mean of sets" else found["sets"][name]
            cells = [_cell(row.get(key)) for key in _COLUMNS]
            table.add_row(f"  {policy}", *cells, _apart(row.get("learned_minus")))
    console = Console()
    console.print(table)
    console.print(f"{figures['model']} ({figures['tier']}), {figures['embedder']}", highlight=False)


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _apart(paired: Mapping[str, float] | None) -> str:
    if paired is None:
        return ""
    return f"{paired['aurc']:+.3f} ({paired['low']:+.3f} to {paired['high']:+.3f})"
