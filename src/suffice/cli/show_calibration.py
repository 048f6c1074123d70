"""The result of a calibration as terminal output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.learn.calibrate.certificate import Certificate

Tree = Mapping[str, Any]
_RATES = {
    "coverage": "served",
    "served_error": "wrong among served",
    "false_withhold": "correct withheld",
}


def show_calibration(
    made: Certificate, out: Path, report: Sequence[Path] = (), *, kept: bool = False
) -> None:
    """Print the guarantee, the thresholds next to the published thresholds, and what to do next."""
    console = Console()
    console.print(Text(headline(made), style="bold green" if made.certified else "bold yellow"))
    console.print(_compared(made))
    for line in [*_notes(made), *_next(made, out, kept=kept)]:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if report:
        console.print(f"Report: {report[0]}", markup=False, highlight=False, soft_wrap=True)


def headline(made: Certificate) -> str:
    """A sentence that states the guarantee and whether it is certified."""
    what = f"at most {made.alpha:.3g} of the served answers are wrong"
    sure = f"with {1 - made.delta:.4g} confidence"
    return f"Certified: {what}, {sure}." if made.certified else f"Not certified: {what}, {sure}."


def _compared(made: Certificate) -> Table:
    """A table with a column for the certified, the configured and the published thresholds."""
    columns: dict[str, tuple[Tree, Tree]] = {}
    if made.thresholds is not None:
        own = {name: getattr(made, name) for name in _RATES}
        columns["certified"] = (made.thresholds, own)
    for name in ("configured", "published"):
        found = made.figures[name]
        columns[name] = (found["thresholds"], found)
    if columns["configured"][0] == columns["published"][0]:
        del columns["configured"]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("gate", "confidence"):
        table.add_row(f"{name} threshold", *(_number(one[name]) for one, _ in columns.values()))
    for name, title in _RATES.items():
        table.add_row(title, *(rate(one[name]) for _, one in columns.values()))
    return table


def rate(found: Tree) -> str:
    """A rate with its interval, such as "4.2% (1.1–8.9)"."""
    if found["rate"] is None:
        return "–"
    return f"{found['rate']:.1%} ({100 * found['low']:.1f}–{100 * found['high']:.1f})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _notes(made: Certificate) -> Iterator[str]:
    method = made.method
    yield (
        f"{made.n} labels: {method['selection_rows']} to order the thresholds, "
        f"{method['testing_rows']} to test them; {method['test']} test, {method['family']}."
    )
    runs = [run for run in made.history if run.data]
    if len(runs) > 1 and not runs[-1].fresh:
        yield f"Some rows were used before: this is calibration {len(runs)} in the file's history."
    yield (
        f"This calibration spent {made.level:.3g} of δ = {made.delta:.3g}; {made.left:.3g} is "
        "left for later calibrations on these rows."
    )


def _next(made: Certificate, out: Path, *, kept: bool) -> Iterator[str]:
    if made.certified:
        yield f"Wrote {out}. To use it, set verdict.thresholds_file to this file."
        return
    if kept:
        yield f"{out} keeps its earlier thresholds."
    if not made.needed:
        yield (
            "On these rows, no thresholds bring the error rate below the limit, so more labels "
            "alone would not help. Use a better verifier, or raise --max-error."
        )
    for one in made.needed:
        yield (
            f"About {one['labels']:,} more labels are needed to serve {one['coverage']:.0%} (gate "
            f"{one['gate']:.2f}, confidence {one['confidence']:.2f}; estimated error "
            f"{one['error']:.1%})."
        )
