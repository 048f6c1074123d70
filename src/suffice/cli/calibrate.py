"""`suffice calibrate`: choose certified thresholds from labelled answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from suffice.cli import as_json as to_json
from suffice.cli.progress import bars
from suffice.settings import CollectionSettings, Settings, read_settings

if TYPE_CHECKING:
    from suffice.learn.calibrate.calibrate import Rule, Wish
    from suffice.learn.calibrate.labels import Label, Scores

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
@click.option("--config", metavar="FILE", help="Settings file (default: suffice.yaml).")
@click.option("--json", "as_json", is_flag=True, help="Print the certificate as JSON.")
@click.option("--quiet", is_flag=True, help="No progress.")
def calibrate(
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
    config: str | None,
    as_json: bool,
    quiet: bool,
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
    from suffice.learn.calibrate.calibrate import Wish
    from suffice.learn.calibrate.calibrate import calibrate as certify
    from suffice.learn.calibrate.certificate import Certificate
    from suffice.learn.calibrate.labels import read_labels
    from suffice.learn.calibrate.report import need_plots, write_report
    from suffice.learn.calibrate.select import Costs, Family
    from suffice.log.moment import now
    from suffice.verdict.thresholds import SERVE_ONLY, WITH_CAVEAT

    if report is not None:
        need_plots()
    settings = read_settings(config)
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
    rule, scores = _scored(rows, settings, own, wish, out, quiet=quiet)
    made = certify(rows, scores, rule, wish, now(), earlier, labels.name)
    made.or_else(earlier).write(out)
    written = write_report(made, report) if report else []
    if as_json:
        to_json.show({"id": made.id, "certified": made.certified, **made.tree()})
    else:
        from suffice.cli.show_calibration import show_calibration

        show_calibration(made, out, written, kept=bool(earlier and earlier.certified))
    return 0 if made.certified else 2


def _scored(
    labels: list[Label],
    settings: Settings,
    own: CollectionSettings,
    wish: Wish,
    out: Path,
    *,
    quiet: bool,
) -> tuple[Rule, list[Scores]]:
    """The decision rule and the scores of the labels. Computed scores are saved next to OUT."""
    from suffice.learn.calibrate.calibrate import Rule
    from suffice.learn.calibrate.scores import Scorer, score
    from suffice.models.catalog import open_embedder, open_verifier

    embedder = open_embedder(settings.embedder)
    verifier = open_verifier(settings.verifier, "", own.draft)
    gated = own.gate.policy == "learned" and not settings.verifier.llm.on
    models = {"embedder": embedder.id, "verifier": verifier.id}
    rule = Rule(replace(own, verdict=replace(own.verdict, thresholds_file="")), models, gated)
    if all(label.scores for label in labels):
        return rule, [label.scores for label in labels if label.scores]
    scorer = Scorer.of(rule.settings, embedder, verifier, wish.served, gated=gated)
    with bars(quiet=quiet) as progress:
        return rule, score(labels, scorer, out.with_suffix(".scores.jsonl"), progress)
