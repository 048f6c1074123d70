"""`suffice bench conflict`: measure the detection of contradictions between passages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli import as_json as to_json
from suffice.cli.bench_verifier import options
from suffice.cli.progress import bars
from suffice.settings import read_settings

Figures = Mapping[str, Any]


@click.command()
@options
def conflict(
    data: Path, tier: str | None, limit: int | None, config: str | None, as_json: bool, quiet: bool
) -> int:
    """Measure how well contradictions between documents in DATA are detected.

    DATA rows are {"set", "question", "documents": [{"text", "type", "answer"}, …]}; "type" is
    correct, misinfo or noise, and "answer" is the answer that the document gives. JSON lines,
    optionally gzipped.
    """
    from suffice.eval.conflict import bench_conflict
    from suffice.gate.conflict.detect import Conflicts
    from suffice.models.catalog import open_verifier

    settings = read_settings(config)
    verifier = open_verifier(settings.verifier, tier or "", settings.draft)
    conflicts = Conflicts(verifier, settings.gate.conflict)
    with bars(quiet=quiet) as progress:
        figures = bench_conflict(data, conflicts, limit, progress)
    to_json.show(figures) if as_json else _show(figures)
    return 0


def _show(figures: Figures) -> None:
    pairs = _table("pairs", "n", "positive", "AUROC", "precision", "recall")
    for name, row in {**figures["asked"], "all": figures["pairs"]}.items():
        columns = ("n", "positive", "auroc", "precision", "recall")
        pairs.add_row(name, *(_cell(row[column]) for column in columns))
    kinds = _table("documents", "n", "conflict", "ambiguous")
    for name, row in figures["pairs"]["kinds"].items():
        kinds.add_row(name, *(_cell(row[column]) for column in ("n", "conflict", "ambiguous")))
    console = Console()
    console.print(pairs, kinds)
    for line in _notes(figures):
        console.print(line, markup=False, highlight=False)


def _notes(figures: Figures) -> Iterator[str]:
    planted, clean = figures["planted"], figures["clean"]
    yield (
        f"A conflict is reported in {_cell(planted['share'])} of {planted['n']} questions with "
        f"planted misinformation,"
    )
    yield f"and in {_cell(clean['share'])} of the same questions without it."
    yield (
        f"{figures['model']}, threshold {figures['threshold']:g}; "
        f"{figures['ms_per_evidence']:.0f} ms per question."
    )


def _table(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cell(value: float | None) -> str:
    """Format a figure; an undefined figure is a dash."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
