"""`python -m benchmarks redteam`: pool the reports of `suffice redteam` on several collections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from suffice.cli import as_json as to_json
from suffice.lab.redteam.run import pooled, read_report


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def redteam(reports: tuple[Path, ...]) -> int:
    """Print the figures of REPORTS as JSON, by attack and by collection, without the texts of the
    documents. A collection is named after the folder of its report."""
    found: dict[str, dict[str, Any]] = {one.parent.name: read_report(one) for one in reports}
    to_json.show(pooled(found))
    return 0
