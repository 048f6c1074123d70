"""`suffice bench answers`: measure `suffice check` end to end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table

from suffice.cli import as_json as to_json
from suffice.cli.bench_verifier import options, sets_table
from suffice.cli.progress import bars
from suffice.settings import read_settings

Figures = Mapping[str, Any]
_MOST = 8
"""Number of kinds of objections to show; `--json` has all of them."""


@click.command()
@click.option(
    "--uncited", is_flag=True, help="The answers have no citations: check against all passages."
)
@click.option(
    "--task",
    "tasks",
    multiple=True,
    help="Only rows of this task, if rows have tasks (repeatable; default: qa and summary; all "
    "disables the filter).",
)
@options
def answers(
    data: Path,
    tier: str | None,
    limit: int | None,
    config: str | None,
    as_json: bool,
    quiet: bool,
    uncited: bool,
    tasks: tuple[str, ...],
) -> int:
    """Measure how well `check` detects unsupported answers in DATA.

    DATA rows are as in `bench grounding`, optionally with "spans": [[start, end, …], …] that mark
    unsupported text. Any verdict but SERVE counts as flagged; the verifier alone is the baseline.
    """
    from suffice.answers import Checker
    from suffice.eval.answers import TASKS, bench_answers
    from suffice.models.catalog import open_verifier

    settings = read_settings(config)
    with bars(quiet=quiet) as progress:
        figures = bench_answers(
            data,
            open_verifier(settings.verifier, tier or "", settings.draft),
            lambda verifier: Checker.of(settings, verifier, uncited=uncited),
            limit,
            progress,
            tasks=() if "all" in tasks else tasks or TASKS,
        )
    to_json.show(figures) if as_json else _show(figures)
    return 0


def _show(figures: Figures) -> None:
    columns = {
        "n": "n",
        "share_positive": "supp.\nshare",
        "f1": "F1",
        "precision": "prec.",
        "recall": "recall",
        "balanced_accuracy": "bal.\nacc.",
        "span_f1": "span\nF1",
        "false_withhold": "false\nwithh.",
        "verifier_f1": "F1,\nverif.\nalone",
        "f1_flag_all": "F1,\nflag\nall",
        "ms_per_row": "ms",
    }
    table = sets_table(figures, columns, padding=1)
    console = Console()
    console.print(table, _objections(figures["pooled"]["against"]))
    for line in _notes(figures):
        console.print(line, markup=False, highlight=False)


def _objections(against: Mapping[str, Mapping[str, Figures]]) -> Table:
    """Count the answers each check objected to, by whether the answer is supported."""
    good, bad = against["supported"], against["not supported"]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("answers with this objection", no_wrap=True)
    table.add_column("supported", justify="right")
    table.add_column("not supported", justify="right")
    names = dict.fromkeys((*good, *bad))
    ranked = sorted(names, key=lambda name: -_answers(good, name) - _answers(bad, name))
    for name in ranked[:_MOST]:
        table.add_row(name, str(_answers(good, name)), str(_answers(bad, name)))
    return table


def _answers(objections: Mapping[str, Figures], name: str) -> int:
    return int(objections[name]["answers"]) if name in objections else 0


def _notes(figures: Figures) -> Iterator[str]:
    most = f" · at most {figures['limit']:,} rows of each set" if figures["limit"] else ""
    against = "all passages" if figures["uncited"] else "the passages they cite"
    yield f"{figures['model']} ({figures['tier']}) · answers checked against {against}{most}"
    yield 'F1 is for the class "not supported"; any verdict but SERVE counts as flagged. Span F1'
    yield "counts characters. False withholding: supported answers with verdict WITHHOLD or REVIEW."
