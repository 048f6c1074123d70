"""`python -m benchmarks peers`: compare with what users would pick instead."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from suffice.cli.figures import figures_table, print_figures
from suffice.cli.options import Options, shared

_RESULTS = Path(__file__).parents[2] / "docs" / "results"


@click.command()
@click.argument("grounding", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "--written",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Also measure quality on these cases with passages and qa.",
)
@click.option("--limit", type=click.IntRange(8), default=120, help="Answers of each set.")
@click.option("--timed", type=click.IntRange(1), default=4, help="Answers to time.")
@click.option("--rounds", type=click.IntRange(1), default=3, help="Rounds of the timing.")
@click.option(
    "--only",
    type=click.Choice(("quality", "speed")),
    help="Measure only this part and keep the other one in OUTPUT.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=_RESULTS / "peers.json",
    help="File for the figures (default: docs/results/peers.json).",
)
@shared("config", "quiet")
def peers(
    options: Options,
    grounding: Path,
    written: Path | None,
    limit: int,
    timed: int,
    rounds: int,
    only: str | None,
    output: Path,
) -> int:
    """Compare quality and time with other detectors on the same answers in one run.

    GROUNDING is a file for `suffice bench grounding` that contains RAGTruth. Quality: the fast
    tier, embeddings only, answer length, flagging everything. Time: also the shapes of an NLI loop
    (DeBERTa-v3-base), LettuceDetect-base and HHEM with random weights, in fp32 and int8. Takes
    about 10 minutes and 7 GB of memory.
    """
    from benchmarks.peers.bench import PARTS, Plan, bench_peers
    from suffice.models.catalog import open_embedder, open_verifier

    settings = options.settings
    models = open_verifier(settings.verifier, "fast"), open_embedder(settings.embedder)
    plan = Plan(limit, timed, rounds, settings.verifier.threads, (only,) if only else PARTS)
    with options.progress() as progress:
        figures = bench_peers(grounding, written, models, _RESULTS, plan, progress)
    if only and output.exists():
        figures = {**json.loads(output.read_text(encoding="utf-8")), **figures}
    output.write_text(json.dumps(figures, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    print_figures(figures, (*_tables(figures), f"Written to {output}"))
    return 0


def _tables(figures: dict[str, Any]) -> Iterator[Table | str]:
    if speed := figures.get("speed"):
        table = figures_table(
            f"{speed['answers']} answers", "precision", "calls", "times fast tier"
        )
        for row in speed["detectors"]:
            calls = f"{row['calls']:g}" if "calls" in row else ""
            table.add_row(row["name"], row.get("precision", ""), calls, f"{row['ratio']:.2f}")
        yield table
    for name, found in figures.get("quality", {}).items():
        table = figures_table(f"{name}, {found['n']} answers", "AUROC", "F1", "balanced accuracy")
        for detector, row in found["detectors"].items():
            table.add_row(detector, *map(_share, list(row.values())[:3]))
        yield table
    table = figures_table("published, RAGTruth, not run here", "F1", "QA", "summary")
    for row in figures["published"]:
        cells = (row["f1"], row["f1_qa"], row["f1_summary"])
        table.add_row(row["name"], *map(_share, cells))
    yield table
    for way, row in (figures["proxy"] or {}).items():
        yield (
            f"Gateway without checks, {way}: {row['throughput_times']} times the throughput of "
            f"LiteLLM's proxy, {row['added_share']} of its latency (docs/results/gateway.json)."
        )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"
