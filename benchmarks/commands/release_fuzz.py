"""`python -m benchmarks release-fuzz`: hostile drafts, and faulted replies of an upstream."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from suffice.cli import as_json as to_json


@click.command("release-fuzz")
@click.option("--drafts", type=click.IntRange(0), default=100_000, help="Drafts of the library.")
@click.option("--replies", type=click.IntRange(0), default=10_000, help="Replies to the gateway.")
@click.option("--seed", type=int, default=37, help="Seed of the drafts.")
@click.option("--seconds", type=click.FloatRange(1), default=3600.0, help="Time limit of a part.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def release_fuzz(drafts: int, replies: int, seed: int, seconds: float, as_json: bool) -> int:
    """Check drafts of hostile pieces, and send requests over faults of the upstream. Fails if a
    released text contains anything that no check read."""
    from benchmarks.released import release_fuzz as run
    from benchmarks.soak import faults

    figures = {}
    if drafts:
        figures["drafts"] = run(drafts, seed, seconds)
    if replies:
        with TemporaryDirectory() as folder:
            figures["replies"] = faults(Path(folder), replies, seconds)
    if as_json:
        to_json.show(figures)
    elif drafts:
        done = figures["drafts"]
        click.echo(
            f"{done['drafts']:,} drafts, {done['hiding']:,} with hidden text, in {done['seconds']} "
            f"s: {done['characters']} unread characters released in {done['unread']} drafts; "
            f"verdicts {done['verdicts']}."
        )
    if replies and not as_json:
        sent = figures["replies"]
        click.echo(
            f"{sent['requests']:,} faulted replies over {sent['kinds']} kinds in "
            f"{sent['seconds']} s: {sent['unchecked']} with unchecked text."
        )
    bad = [part.get("unread", 0) + part.get("unchecked", 0) for part in figures.values()]
    return 1 if any(bad) else 0
