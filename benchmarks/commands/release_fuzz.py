"""`python -m benchmarks release-fuzz`: hostile drafts, and faulted replies of an upstream."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from suffice.cli.figures import print_figures
from suffice.cli.options import Options, shared


@click.command("release-fuzz")
@click.option("--drafts", type=click.IntRange(0), default=100_000, help="Drafts of the library.")
@click.option("--replies", type=click.IntRange(0), default=10_000, help="Replies to the gateway.")
@click.option("--seed", type=int, default=37, help="Seed of the drafts.")
@click.option("--seconds", type=click.FloatRange(1), default=3600.0, help="Time limit of a part.")
@shared("as_json")
def release_fuzz(options: Options, drafts: int, replies: int, seed: int, seconds: float) -> int:
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
    print_figures(figures, _show(figures), as_json=options.as_json)
    bad = [part.get("unread", 0) + part.get("unchecked", 0) for part in figures.values()]
    return 1 if any(bad) else 0


def _show(figures: dict[str, Any]) -> Iterator[str]:
    if done := figures.get("drafts"):
        yield (
            f"{done['drafts']:,} drafts, {done['hiding']:,} with hidden text, in {done['seconds']} "
            f"s: {done['characters']} unread characters released in {done['unread']} drafts; "
            f"verdicts {done['verdicts']}."
        )
    if sent := figures.get("replies"):
        yield (
            f"{sent['requests']:,} faulted replies over {sent['kinds']} kinds in "
            f"{sent['seconds']} s: {sent['unchecked']} with unchecked text."
        )
