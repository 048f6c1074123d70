"""`python -m benchmarks speed`: measure the time to check an answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli import as_json as to_json
from suffice.cli.progress import bars
from suffice.settings import read_settings


@click.command()
@click.option("--strong", is_flag=True, help="Also time the strong tier.")
@click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="No progress bars.")
def speed(strong: bool, config: str | None, as_json: bool, quiet: bool) -> int:
    """Compare the time to check an answer with two common kinds of verifier in one run.

    The baselines are a DeBERTa-v3-base cross-encoder that reads each sentence with each passage,
    and a ModernBERT-base token classifier that reads everything in one pass, both in fp32 with
    random weights and the same number of threads. Takes a few minutes.
    """
    from benchmarks.speed import bench_speed
    from suffice.models.catalog import open_verifier

    settings = read_settings(config).verifier
    with bars(quiet=quiet) as progress:
        figures = bench_speed(
            open_verifier(settings, "fast"),
            partial(open_verifier, settings, "fast"),
            progress,
            strong=open_verifier(settings, "strong") if strong else None,
            threads=settings.threads,
        )
    if as_json:
        to_json.show(figures)
    else:
        _show_speed(figures)
    return 0


def _show_speed(figures: dict[str, Any]) -> None:
    wanted = figures["wanted"]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("5 sentences, 5 passages of 200 words", no_wrap=True)
    for name in ("ms", "times fast", "target"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_row("fast tier", _ms(figures["fast_ms"]))
    for label, ms, ratio in (
        ("25 calls of a DeBERTa-v3-base", "deberta_25_calls_ms", "deberta_ratio"),
        ("one pass of a ModernBERT-base", "modernbert_pass_ms", "modernbert_ratio"),
    ):
        least = f"{1 / wanted[ratio]:.0f} or more"
        table.add_row(label, _ms(figures[ms]), f"{1 / figures[ratio]:.1f}", least)
    if "strong_ms" in figures:
        times, most = (
            f"{figures['strong_times_fast']:.1f}",
            f"{wanted['strong_times_fast']} or less",
        )
        table.add_row("strong tier", _ms(figures["strong_ms"]), times, most)
    growth = Table(box=box.SIMPLE_HEAD)
    growth.add_column("passages", no_wrap=True)
    for size in figures["growth"]["passages"]:
        growth.add_column(size, justify="right", no_wrap=True)
    growth.add_row("fast tier, ms", *map(_ms, figures["growth"]["passages"].values()))
    console = Console()
    console.print(table, growth)
    for line in _speed_notes(figures):
        console.print(line, markup=False, highlight=False)


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _speed_notes(figures: dict[str, Any]) -> Iterator[str]:
    wanted, shapes = figures["wanted"], figures["shapes"]
    exponent, memory = figures["growth"]["exponent"], figures["memory_mb"]
    target = wanted["exponent"]
    yield f"Time grows with the evidence to the power {exponent:.2f} (target: {target} or less)."
    if memory is not None:
        yield f"Peak memory of a fresh process: {memory} MB (target: under {wanted['memory_mb']})."
    about = f"fp32 with random weights, {shapes['threads']} threads"
    yield f"Baselines: {about}, {shapes['tokens_a_word']} tokens per word;"
    for label, name, end in (("DeBERTa", "deberta", ","), ("ModernBERT", "modernbert", ".")):
        size, tokens = shapes[name]["parameters"] / 1e6, shapes[name]["tokens"]
        yield f"{label} {size:.0f} M parameters without embeddings, {tokens:,} tokens per call{end}"
