"""`python -m benchmarks soak`: upstream faults and kills under load."""

from __future__ import annotations

import click

from suffice.cli import as_json as to_json


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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def soak(requests: int, kills: int, texts: int, seconds: float, as_json: bool) -> int:
    """Send requests over every kind of upstream fault in three modes, and texts that are hard to
    read, and kill the gateway under load, on SQLite and on PostgreSQL. Fails if an unchecked text
    left the gateway, a request ended a second after its deadline, or an acknowledged record was
    lost."""
    from benchmarks.soak import soak as run

    figures = run(requests, kills, seconds, texts)
    if as_json:
        to_json.show(figures)
    if (found := figures.get("faults")) and not as_json:
        click.echo(
            f"{found['requests']:,} requests over {found['kinds']} kinds of fault in "
            f"{found['seconds']} s: {found['unchecked']} unchecked texts; statuses "
            f"{found['statuses']}."
        )
        for where, count in found["where"].items():
            click.echo(f"  {count} x {where}")
    if (found := figures.get("texts")) and not as_json:
        click.echo(
            f"{found['requests']:,} hostile texts of {found['pieces']} kinds in "
            f"{found['seconds']} s: {found['late']} late, statuses {found['statuses']}; "
            f"/healthz at most {found['healthz']['max_ms']} ms, "
            f"memory at most {found['memory_mb']['peak']} MB."
        )
        for where, count in found["where"].items():
            click.echo(f"  {count} x {where}")
    kills_ = [figures[name] for name in ("kills_sqlite", "kills_postgresql") if name in figures]
    for found in kills_ if not as_json else ():
        click.echo(
            f"{found['kills']} kills on {found['store']}: {found['acknowledged']:,} records "
            f"acknowledged, {found['lost']} lost; the chain "
            f"{'verifies' if found['chain'] else 'is BROKEN'}."
        )
    leaked = figures.get("faults", {}).get("unchecked", 0)
    stuck = figures.get("texts", {}).get("late", 0)
    return 1 if leaked or stuck or any(one["lost"] or not one["chain"] for one in kills_) else 0
