"""`python -m benchmarks soak`: upstream faults and kills under load."""

from __future__ import annotations

import click

from suffice.cli import as_json as to_json


@click.command()
@click.option(
    "--requests", type=click.IntRange(0), default=10_000, help="Requests over all faults."
)
@click.option("--kills", type=click.IntRange(0), default=100, help="Number of kills under load.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def soak(requests: int, kills: int, as_json: bool) -> int:
    """Send requests over every kind of upstream fault in three modes, and kill the gateway under
    load. Fails if an unchecked text left the gateway or an acknowledged record was lost."""
    from benchmarks.soak import soak as run

    figures = run(requests, kills)
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
    if (found := figures.get("kills")) and not as_json:
        click.echo(
            f"{found['kills']} kills: {found['acknowledged']:,} records acknowledged, "
            f"{found['lost']} lost; the chain {'verifies' if found['chain'] else 'is BROKEN'}."
        )
    leaked = figures.get("faults", {}).get("unchecked", 0)
    kills_ = figures.get("kills", {})
    return 1 if leaked or kills_.get("lost", 0) or not kills_.get("chain", True) else 0
