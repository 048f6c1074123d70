"""`suffice bench`: measure quality on your own data."""

from __future__ import annotations

from collections.abc import Sequence
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
from suffice.cli.show import plain
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
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@CONFIG
@JSON
@QUIET
def retrieval(data: tuple[Path, ...], config: str | None, as_json: bool, quiet: bool) -> int:
    """Measure search on your own documents and questions.

    DATA is one or more folders as for `suffice eval` (questions.jsonl with "quote", and docs/ or
    docs.tar.gz): at which place are the passages that hold the quotes? Or pairs of files, CORPUS
    {"id", "title"?, "text"} and QUERIES {"query", "relevant": {id: gain}}: nDCG@10, recall@100 and
    search times, which exclude embedding the query. JSON lines, optionally gzipped.
    """
    from suffice.eval.retrieval import bench_retrieval
    from suffice.eval.search_places import bench_places

    settings = read_settings(config)
    folders = [path for path in data if path.is_dir()]
    files = [path for path in data if not path.is_dir()]
    if len(files) % 2:
        raise click.UsageError("Name folders, or files in pairs: CORPUS QUERIES.")
    with bars(quiet=quiet) as progress:
        places = [bench_places(folder, settings, progress) for folder in folders]
        ranked = [
            bench_retrieval(corpus, queries, settings, progress)
            for corpus, queries in zip(files[::2], files[1::2], strict=True)
        ]
    if as_json:
        results = [*places, *ranked]
        to_json.show(results[0] if len(results) == 1 else results)
        return 0
    if places:
        _show_places(places)
    for figures in ranked:
        _show_retrieval(figures)
    return 0


def _show_places(results: Sequence[dict[str, Any]]) -> None:
    """The share of questions whose needed passages are all among the first n."""
    depths = next((list(one["recall"]) for one in results if one["questions"]), [])
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("", "n", *depths, "nDCG@10", "place"):
        table.add_column(name, justify="right" if table.columns else "left", no_wrap=True)
    for figures in results:
        rows = {figures["data"]: figures, **figures["collections"], **figures["kinds"]}
        for name, row in rows.items():
            if row["questions"]:
                shares = (f"{100 * row['recall'][depth]:.0f}" for depth in depths)
                means = f"{row['ndcg@10']:.2f}", f"{row['mean_place']:.1f}"
                table.add_row(plain(name), str(row["questions"]), *shares, *means)
    console = Console()
    console.print("% of the questions whose passages are all among the first:")
    console.print(table)
    for figures in results:
        for miss in figures["misses"]:
            place = miss["place"] or f"after {depths[-1]}"
            console.print(plain(f"{miss['collection']}, place {place}: {miss['question']}"))
        for question in figures["unplaced"]:
            console.print(plain(f"not measured, its quote is in no passage: {question}"))


def _show_retrieval(figures: dict[str, Any]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("", "nDCG@10", "recall@100", "p50 ms", "p95 ms"):
        table.add_column(name, justify="right" if name else "left")
    for way in ("reranked", "hybrid", "bm25", "dense"):
        row = figures.get(way)
        if row is None:
            continue
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
