"""`python -m benchmarks indexing`: measure how fast documents are indexed."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.indexing import bench_indexing
from suffice.cli.figures import print_figures
from suffice.cli.options import Options, shared


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@shared("config", "as_json", "quiet")
def indexing(options: Options, source: Path) -> int:
    """Compare the indexing rate on the folder SOURCE with the bare ONNX session in one run."""
    with options.progress() as progress:
        figures = bench_indexing(source, options.settings, progress)
    shown = (
        f"{name.replace('_', ' '):>20}  {value}" for name, value in figures.items() if name != "run"
    )
    print_figures(figures, shown, as_json=options.as_json)
    return 0
