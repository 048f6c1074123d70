"""`python -m benchmarks soak`: upstream faults and kills under load."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from suffice.cli.figures import print_figures
from suffice.cli.options import Options, shared


@click.command()
@click.option(
    "--requests", type=click.IntRange(0), default=10_000, help="Requests over all faults."
)
@click.option(
    "--kills", type=click.IntRange(0), default=100, help="Kills under load, on each database."
)
@click.option("--texts", type=click.IntRange(0), default=2_000, help="Requests with hostile texts.")
@click.option(
    "--seconds", type=click.FloatRange(1), default=3600.0, help="Time limit of each part."
)
@shared("as_json")
def soak(options: Options, requests: int, kills: int, texts: int, seconds: float) -> int:
    """Send requests over every kind of upstream fault in three modes, and texts that are hard to
    read, and kill the gateway under load, on SQLite and on PostgreSQL. Fails if an unchecked text
    left the gateway, a request ended a second after its deadline, or an acknowledged record was
    lost."""
    from benchmarks.soak import soak as run

    figures = run(requests, kills, seconds, texts)
    print_figures(figures, _show(figures), as_json=options.as_json)
    leaked = figures.get("faults", {}).get("unchecked", 0)
    stuck = figures.get("texts", {}).get("late", 0)
    return (
        1
        if leaked or stuck or any(run_["lost"] or not run_["chain"] for run_ in _kills(figures))
        else 0
    )


def _kills(figures: dict[str, Any]) -> list[dict[str, Any]]:
    return [figures[name] for name in ("kills_sqlite", "kills_postgresql") if name in figures]


def _show(figures: dict[str, Any]) -> Iterator[str]:
    if found := figures.get("faults"):
        yield (
            f"{found['requests']:,} requests over {found['kinds']} kinds of fault in "
            f"{found['seconds']} s: {found['unchecked']} unchecked texts; statuses "
            f"{found['statuses']}."
        )
        yield from (f"  {count} x {where}" for where, count in found["where"].items())
    if found := figures.get("texts"):
        yield (
            f"{found['requests']:,} hostile texts of {found['pieces']} kinds in "
            f"{found['seconds']} s: {found['late']} late, statuses {found['statuses']}; "
            f"/healthz at most {found['healthz']['max_ms']} ms, "
            f"memory at most {found['memory_mb']['peak']} MB."
        )
        yield from (f"  {count} x {where}" for where, count in found["where"].items())
    for found in _kills(figures):
        yield (
            f"{found['kills']} kills on {found['store']}: {found['acknowledged']:,} records "
            f"acknowledged, {found['lost']} lost; the chain "
            f"{'verifies' if found['chain'] else 'is BROKEN'}."
        )
