"""`python -m benchmarks speed`: measure the time to check an answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import click
from rich.console import RenderableType

from suffice.cli.figures import figures_table, print_figures
from suffice.cli.options import Options, shared


@click.command()
@click.option("--strong", is_flag=True, help="Also time the strong tier.")
@shared("config", "as_json", "quiet")
def speed(options: Options, strong: bool) -> int:
    """Compare the time to check an answer with two common kinds of verifier in one run.

    The baselines are a DeBERTa-v3-base cross-encoder that reads each sentence with each passage,
    and a ModernBERT-base token classifier that reads everything in one pass, both in fp32 with
    random weights and the same number of threads. Takes a few minutes.
    """
    from benchmarks.speed import bench_speed
    from suffice.models.catalog import open_verifier

    settings = options.settings.verifier
    with options.progress() as progress:
        figures = bench_speed(
            open_verifier(settings, "fast"),
            partial(open_verifier, settings, "fast"),
            progress,
            strong=open_verifier(settings, "strong") if strong else None,
            threads=settings.threads,
        )
    print_figures(figures, _show_speed(figures), as_json=options.as_json)
    return 0


def _show_speed(figures: dict[str, Any]) -> Iterator[RenderableType]:
    wanted = figures["wanted"]
    table = figures_table("5 sentences, 5 passages of 200 words", "ms", "times fast", "target")
    table.add_row("fast tier", _ms(figures["fast_ms"]))
    for label, ms, ratio in (
        ("25 calls of a DeBERTa-v3-base", "deberta_25_calls_ms", "deberta_ratio"),
        ("one pass of a ModernBERT-base", "modernbert_pass_ms", "modernbert_ratio"),
    ):
        least = f"{1 / wanted[ratio]:.0f} or more"
        table.add_row(label, _ms(figures[ms]), f"{1 / figures[ratio]:.1f}", least)
    if "strong_ms" in figures:
        times, most = f"{figures['strong_times_fast']:.1f}", wanted["strong_times_fast"]
        table.add_row("strong tier", _ms(figures["strong_ms"]), times, f"{most} or less")
    passages = figures["growth"]["passages"]
    growth = figures_table("passages", *passages)
    growth.add_row("fast tier, ms", *map(_ms, passages.values()))
    yield from (table, growth)
    yield from _speed_notes(figures)


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
