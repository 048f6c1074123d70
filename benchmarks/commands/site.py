"""`python -m benchmarks site`: measure the review site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from suffice.cli.figures import print_figures
from suffice.cli.options import Options, shared


@click.command()
@click.option("--records", type=click.IntRange(100), default=100_000, help="Decisions in the log.")
@click.option("--people", type=click.IntRange(1, 1000), default=10, help="People who browse.")
@click.option(
    "--looks", type=click.FloatRange(0), default=2.0, help="Seconds between two pages of a person."
)
@click.option(
    "--seconds", type=click.FloatRange(1), default=20.0, help="Duration of each measurement."
)
@click.option("--rounds", type=click.IntRange(1), default=3, help="Measurements with and without.")
@click.option("--clients", type=click.IntRange(1, 1000), default=2, help="Concurrent checks.")
@shared("as_json")
def site(
    options: Options,
    records: int,
    people: int,
    looks: float,
    seconds: float,
    rounds: int,
    clients: int,
) -> int:
    """Measure the first page of the log over many records, and checks beside people who browse.

    Exit code 2: the log is slower than 3 times that over 1,000 records, or the p95 of checks rises
    by more than 20 %. Takes about 10 minutes on an otherwise idle machine.
    """
    from benchmarks.site import WANTED, Plan, bench_site

    figures = bench_site(Plan(records, people, looks, seconds, rounds, clients))
    print_figures(figures, lines(figures), as_json=options.as_json)
    slowest = max(one["times"] for one in figures["log"]["pages"].values())
    rise = figures["browsing"]["p95_times"] or 0.0
    return 2 if slowest > WANTED["log_times"] or rise > WANTED["p95_times"] else 0


def lines(figures: dict[str, Any]) -> Iterator[str]:
    wanted, log, found = figures["wanted"], figures["log"], figures["browsing"]
    yield f"{figures['records']:,} records: indexed in {log['index_s']} s."
    for name, one in log["pages"].items():
        yield (
            f"  {name}: {one['many_ms']} ms, {one['times']} times that over few records (target:"
            f" {wanted['log_times']:g} or less)."
        )
    yield (
        f"Checks beside {found['people']} people: p95 {found['p95_times']} times that without"
        f" (target: {wanted['p95_times']:g} or less); {found['pages']} pages, median"
        f" {found['page_p50_ms']} ms, statuses {found['statuses']}."
    )
