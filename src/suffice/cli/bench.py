"""`suffice bench`: measure quality on your own data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli import as_json as to_json
from suffice.cli.bench_answers import answers
from suffice.cli.bench_conflict import conflict
from suffice.cli.bench_gate import gate
from suffice.cli.bench_verifier import grounding, sufficiency
from suffice.cli.progress import bars
from suffice.cli.store_options import CONFIG, JSON, QUIET
from suffice.settings import read_settings


@click.group()
def bench() -> None:
    """Measure retrieval, verifiers, gates and checks on your data."""


bench.add_command(answers)
bench.add_command(conflict)
bench.add_command(grounding)
bench.add_command(sufficiency)
bench.add_command(gate)


@bench.command()
@click.argument("corpus", type=click.Path(path_type=Path))
@click.argument("queries", type=click.Path(path_type=Path))
@CONFIG
@JSON
@QUIET
def retrieval(corpus: Path, queries: Path, config: str | None, as_json: bool, quiet: bool) -> int:
    """Measure nDCG@10, recall@100 and search time on CORPUS and QUERIES.

    CORPUS rows are {"id", "title"?, "text"}, QUERIES rows {"query", "relevant": {id: gain}}; JSON
    lines, optionally gzipped. Search times exclude embedding the query, which is reported
    separately.
    """
    from suffice.eval.retrieval import bench_retrieval

    with bars(quiet=quiet) as progress:
        figures = bench_retrieval(corpus, queries, read_settings(config), progress)
    to_json.show(figures) if as_json else _show_retrieval(figures)
    return 0


def _show_retrieval(figures: dict[str, Any]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("", "nDCG@10", "recall@100", "p50 ms", "p95 ms"):
        table.add_column(name, justify="right" if name else "left")
    for way in ("hybrid", "bm25", "dense"):
        row = figures[way]
        table.add_row(
            way,
            f"{row['ndcg@10']:.3f}",
            f"{row['recall@100']:.3f}",
            f"{row['p50_ms']:.1f}",
            f"{row['p95_ms']:.1f}",
        )
    console = Console()
    console.print(table)
    embedding = figures["query_embedding"]
    console.print(
        f"{figures['passages']:,} passages, {figures['queries']:,} queries; "
        f"embedding a query takes an additional {embedding['p50_ms']:.1f} ms (p50)."
    )
