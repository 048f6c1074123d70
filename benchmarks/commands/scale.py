"""`python -m benchmarks scale`: plan machines for a load, and simulate the queue."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.scale import bench_scale
from suffice.cli import as_json as to_json

_RESULTS = Path(__file__).parents[2] / "docs" / "results"


@click.command()
@click.option(
    "--results",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=_RESULTS,
    help="Folder with gateway.json, record.json and speed.json.",
)
def scale(results: Path) -> int:
    """Compute cost and machines from measured figures, and simulate the queue. Prints JSON."""
    to_json.show(bench_scale(results))
    return 0
