"""`suffice calibrate`: choose certified thresholds from labelled answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from suffice.cli.figures import Figures, figures_table, number, print_figures
from suffice.cli.options import Options, shared
from suffice.lab.calibrate.certificate import Certificate
from suffice.settings import CollectionSettings

if TYPE_CHECKING:
    from suffice.lab.calibrate.calibrate import Rule, Wish
    from suffice.lab.calibrate.labels import Label, Scores

_SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
_COST = click.FloatRange(0)


@click.command()
@click.argument("labels", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--max-error",
    type=_SHARE,
    default=0.05,
    show_default=True,
    help="Maximum share of served answers that may be wrong.",
)
@click.option(
    "--confidence",
    type=_SHARE,
    default=0.95,
    show_default=True,
    help="Probability that the guarantee holds.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("thresholds.json"),
    show_default=True,
    help="File for the thresholds and their certificate.",
)
@click.option("--caveats", is_flag=True, help="Count answers with a caveat as served.")
@click.option(
    "--max-false-withhold",
    type=_SHARE,
    help="Also guarantee that at most this share of correct answers is withheld.",
)
@click.option(
    "--cost-wrong", type=_COST, default=0.0, help="Cost of serving a wrong answer (see below)."
)
@click.option(
    "--cost-withheld", type=_COST, default=0.0, help="Cost of withholding a correct answer."
)
@click.option(
    "--method",
    type=click.Choice(["auto", "fixed-sequence", "bonferroni"]),
    default="auto",
    show_default=True,
    help="Method of multiple testing over the thresholds; auto is bonferroni below 100 rows.",
)
@click.option(
    "--final",
    is_flag=True,
    help="Spend the rest of 1 − confidence. These rows cannot be used again.",
)
@click.option("--report", type=click.Path(path_type=Path), help="Folder for report.html and plots.")
@click.option("--collection", default="", help="Use the settings of this collection.")
@shared("config", "as_json", "quiet")
def calibrate(
    options: Options,
    labels: Path,
    max_error: float,
    confidence: float,
    out: Path,
    caveats: bool,
    max_false_withhold: float | None,
    cost_wrong: float,
    cost_withheld: float,
    method: str,
    final: bool,
    report: Path | None,
    collection: str,
) -> int:
    """Choose thresholds so that at most --max-error of the served answers are wrong.

    LABELS has one JSON object per line: "question", "evidence" (texts), "answer" and "correct"
    (true or false; wrong means not fully supported). Instead of "correct", "claims" can hold one
    judgement per claim. Rows with "scores": {"gate", "confidence"} need no model. You can use the
    output of `suffice review export` as is. Optional: "collection", "kind", "sufficient".

    Of all thresholds that meet the guarantee, the command chooses those that serve the most answers
    or, with costs, those that cost the least. To use them, set verdict.thresholds_file to the file.

    Exit code 0: thresholds were certified. 2: no thresholds could be certified. 1: error.
    """
    from suffice.lab.calibrate.calibrate import Wish
    from suffice.lab.calibrate.calibrate import calibrate as certify
    from suffice.lab.calibrate.certificate import Certificate
    from suffice.lab.calibrate.labels import read_labels
    from suffice.lab.calibrate.report import need_plots, write_report
    from suffice.lab.calibrate.select import Costs, Family
    from suffice.log.chain import now
    from suffice.verdict.thresholds import SERVE_ONLY, WITH_CAVEAT

    if report is not None:
        need_plots()
    settings = options.settings
    rows = read_labels(labels)
    earlier = Certificate.read(out) if out.is_file() else None
    wish = Wish(
        max_error,
        round(1 - confidence, 12),
        WITH_CAVEAT if caveats else SERVE_ONLY,
        max_false_withhold,
        Costs(cost_wrong, cost_withheld),
        None if method == "auto" else Family(method),
        final,
    )
    own = settings.collection(collection)
    rule, scores = _scored(rows, options, own, wish, out)
    made = certify(rows, scores, rule, wish, now(), earlier, labels.name)
    made.or_else(earlier).write(out)
    written = write_report(made, report) if report else []
    print_figures(
        {"id": made.id, "certified": made.certified, **made.tree()},
        show_calibration(made, out, written, kept=bool(earlier and earlier.certified)),
        as_json=options.as_json,
    )
    return 0 if made.certified else 2


def _scored(
    labels: list[Label], options: Options, own: CollectionSettings, wish: Wish, out: Path
) -> tuple[Rule, list[Scores]]:
    """The decision rule and the scores of the labels. Computed scores are saved next to OUT."""
    from suffice.lab.calibrate.calibrate import Rule
    from suffice.lab.calibrate.scores import Scorer, score
    from suffice.models.catalog import open_embedder, open_verifier

    settings = options.settings
    embedder = open_embedder(settings.embedder)
    verifier = open_verifier(settings.verifier, "", own.draft)
    gated = own.gate.policy == "learned" and not settings.verifier.llm.on
    models = {"embedder": embedder.id, "verifier": verifier.id}
    rule = Rule(replace(own, verdict=replace(own.verdict, thresholds_file="")), models, gated)
    if all(label.scores for label in labels):
        return rule, [label.scores for label in labels if label.scores]
    scorer = Scorer.of(rule.settings, embedder, verifier, wish.served, gated=gated)
    with options.progress() as progress:
        return rule, score(labels, scorer, out.with_suffix(".scores.jsonl"), progress)


_RATES = {
    "coverage": "served",
    "served_error": "wrong among served",
    "false_withhold": "correct withheld",
}


def show_calibration(
    made: Certificate, out: Path, report: Sequence[Path] = (), *, kept: bool = False
) -> Iterator[RenderableType]:
    """The guarantee, the thresholds next to the published thresholds, and what to do next."""
    yield Text(headline(made), style="bold green" if made.certified else "bold yellow")
    yield _compared(made)
    yield from _notes(made)
    yield from _next(made, out, kept=kept)
    if report:
        yield f"Report: {report[0]}"


def headline(made: Certificate) -> str:
    """A sentence that states the guarantee and whether it is certified."""
    what = f"at most {made.alpha:.3g} of the served answers are wrong"
    sure = f"with {1 - made.delta:.4g} confidence"
    return f"Certified: {what}, {sure}." if made.certified else f"Not certified: {what}, {sure}."


def _compared(made: Certificate) -> Table:
    """A table with a column for the certified, the configured and the published thresholds."""
    columns: dict[str, tuple[Figures, Figures]] = {}
    if made.thresholds is not None:
        own = {name: getattr(made, name) for name in _RATES}
        columns["certified"] = (made.thresholds, own)
    for name in ("configured", "published"):
        found = made.figures[name]
        columns[name] = (found["thresholds"], found)
    if columns["configured"][0] == columns["published"][0]:
        del columns["configured"]
    table = figures_table("", *columns)
    for name in ("gate", "confidence"):
        table.add_row(f"{name} threshold", *(number(one[name]) for one, _ in columns.values()))
    for name, title in _RATES.items():
        table.add_row(title, *(rate(one[name]) for _, one in columns.values()))
    return table


def rate(found: Figures) -> str:
    """A rate with its interval, such as "4.2% (1.1–8.9)"."""
    if found["rate"] is None:
        return "–"
    return f"{found['rate']:.1%} ({100 * found['low']:.1f}–{100 * found['high']:.1f})"


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
