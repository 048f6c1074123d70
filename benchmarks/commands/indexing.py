"""`python -m benchmarks indexing`: measure how fast documents are indexed."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.indexing import bench_indexing
from suffice.cli import as_json as to_json
from suffice.cli.progress import bars
from suffice.settings import read_settings


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No progress bars.")
def indexing(source: Path, config: str | None, as_json: bool, quiet: bool) -> int:
    """Compare the indexing rate on the folder SOURCE with the bare ONNX session in one run."""
    with bars(quiet=quiet) as progress:
        figures = bench_indexing(source, read_settings(config), progress)
    if as_json:
        to_json.show(figures)
    else:
        for name, value in figures.items():
            if name != "run":
                click.echo(f"{name.replace('_', ' '):>20}  {value}")
    return 0
