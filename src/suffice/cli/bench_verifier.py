"""`suffice bench grounding` and `suffice bench sufficiency`: measure a verifier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click
from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli import as_json as to_json
from suffice.cli.progress import bars
from suffice.cli.show import plain
from suffice.cli.store_options import CONFIG, JSON, QUIET, F, with_options
from suffice.settings import LlmSettings, read_settings

Figures = Mapping[str, Any]
_WIDE = 96
"""Terminal width in characters from which table columns are two spaces apart."""


def options(command: F) -> F:
    """Add the options shared by all verifier benchmarks."""
    return with_options(
        command,
        click.argument("data", type=click.Path(path_type=Path)),
        click.option(
            "--tier",
            type=click.Choice(["fast", "strong", "llm"]),
            help="Verifier: fast, strong, or llm for your own LLM (default: from the settings).",
        ),
        click.option(
            "--limit",
            type=click.IntRange(min=1),
            help="Rows of each set; the selection is deterministic (default: all).",
        ),
        CONFIG,
        JSON,
        QUIET,
    )


def llm_options(command: F) -> F:
    """Add the options that select the LLM for `--tier llm`."""
    return with_options(
        command,
        click.option("--llm", metavar="URL", help="Base URL of the LLM (default: verifier.llm)."),
        click.option("--model", metavar="NAME", help="Model name."),
        click.option(
            "--key-env", metavar="NAME", help="Environment variable that holds the API key."
        ),
        click.option(
            "--ask",
            type=click.Choice(["band", "always"]),
            help="Query the LLM only where the cheaper tier is unsure (band), or for every row.",
        ),
    )


@click.command()
@options
@llm_options
def grounding(as_json: bool, **given: Any) -> int:
    """Measure how well the verifier detects supported claims in DATA.

    DATA rows are {"set", "evidence", "claim", "label", "question"?, "task"?}; the label is entail
    (supported) or one of neutral, contradict, not_entail, partial. JSON lines, optionally gzipped.
    """
    from suffice.eval.grounding import bench_grounding

    figures = _measured(bench_grounding, **given)
    labels = "supported", "length_auroc", "shorter answers"
    to_json.show(figures) if as_json else _show(figures, *labels)
    return 0


@click.command()
@options
@llm_options
def sufficiency(as_json: bool, **given: Any) -> int:
    """Measure how well the verifier detects questions in DATA that their passages answer.

    DATA rows are {"set", "question", "evidence": [passage, …], "sufficient": true or false}; JSON
    lines, optionally gzipped.
    """
    from suffice.eval.sufficiency import bench_sufficiency

    figures = _measured(bench_sufficiency, **given)
    labels = "sufficient", "evidence_length_auroc", "longer evidence"
    to_json.show(figures) if as_json else _show(figures, *labels)
    return 0


def _measured(
    bench: Callable[..., Figures],
    data: Path,
    tier: str | None,
    limit: int | None,
    config: str | None,
    quiet: bool,
    **llm: Any,
) -> Figures:
    from suffice.models.catalog import open_verifier

    settings = read_settings(config)
    chosen = settings.verifier
    if tier == "llm":
        chosen = replace(chosen, llm=_named(chosen.llm, **llm))
    elif any(llm.values()):
        raise click.UsageError("--llm, --model, --key-env and --ask require --tier llm.")
    verifier = open_verifier(chosen, tier or "", settings.draft)
    with bars(quiet=quiet) as progress:
        return bench(data, verifier, limit, progress)


def _named(
    settings: LlmSettings,
    llm: str | None,
    model: str | None,
    key_env: str | None,
    ask: Literal["band", "always"] | None,
) -> LlmSettings:
    """Apply the command line options. A configured API key is never sent to another URL."""
    if llm and llm != settings.url:
        settings = replace(settings, url=llm, model="", key_env="")
    return replace(
        settings,
        model=model or settings.model,
        key_env=key_env or settings.key_env,
        ask=ask or settings.ask,
    )


def _show(figures: Figures, good: str, length: str, guess: str) -> None:
    """Print each set with its tasks, then the pooled figures and the mean of the sets."""
    columns = {
        "n": "n",
        "share_positive": f"{good[:4]}.\nshare",
        "auroc": "AUROC",
        "balanced_accuracy": "bal.\nacc.",
        "accuracy": "acc.",
        "f1": "F1",
        "f1_flag_all": "F1\nflag\nall",
        length: "AUROC\nby\nlength",
        "coverage_at_5_risk": "served\nat 5 %\nrisk",
        "ece": "ECE",
        "ms_per_row": "ms",
    }
    console = Console()
    table = sets_table(figures, columns, padding=1 if console.width >= _WIDE else 0)
    table.add_row("mean of sets", *cells(figures["means"], columns))
    console.print(table)
    for line in _notes(figures, good, guess):
        console.print(line, markup=False, highlight=False)


def sets_table(figures: Figures, columns: Mapping[str, str], *, padding: int) -> Table:
    """A table with a row for each set and task, and a row for the pooled figures."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, padding, 0, 0))
    table.add_column("", min_width=10, overflow="ellipsis")
    for title in columns.values():
        table.add_column(title, justify="right", no_wrap=True)
    for name, row in lines(figures["sets"]):
        table.add_row(plain(name), *cells(row, columns))
    table.add_section()
    table.add_row("pooled", *cells(figures["pooled"], columns))
    return table


def lines(sets: Mapping[str, Figures]) -> Iterator[tuple[str, Figures]]:
    for name, row in sets.items():
        yield name, row
        for task, figures in row.get("tasks", {}).items():
            yield f"  {task}", figures


def cells(row: Figures, columns: Iterable[str]) -> Iterator[str]:
    """Format a row. An undefined figure is a dash, an absent figure an empty cell."""
    for name in columns:
        value = row.get(name)
        if value is None:
            yield "–" if name in row else ""
        elif name == "n":
            yield f"{value:,}"
        else:
            yield f"{value:.1f}" if name == "ms_per_row" else f"{value:.3f}"


def _notes(figures: Figures, good: str, guess: str) -> Iterator[str]:
    pooled = figures["pooled"]
    scored = f" · score: {figures['aggregation']}" if "aggregation" in figures else ""
    most = f" · at most {figures['limit']:,} rows of each set" if figures["limit"] else ""
    yield f"{figures['model']} ({figures['tier']}){most}"
    threshold = f"threshold {figures['threshold']:g}"
    yield f"{good}: {threshold}{scored} · pooled ECE {pooled['ece']:.3f}"
    yield f'F1 is for the class "not {good}"; AUROC by length ranks {guess} as more {good}.'
    if "llm" in figures:
        llm = figures["llm"]
        yield (
            f"LLM: {llm['calls']:,} calls, {llm['tokens']:,} tokens, {llm['seconds']:,.1f} s · "
            f"decided {llm['spoke']:.1%} of rows, fell back in {llm['fell_back']:.1%}"
        )
    if pooled["unchecked"]:
        counts = f"{pooled['unchecked']:,} of {pooled['checks']:,}"
        yield f"{counts} checks were inconclusive and counted as 0."
