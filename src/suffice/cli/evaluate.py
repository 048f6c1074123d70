"""`suffice eval`: evaluate the whole pipeline on labelled questions and drafts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
from rich.console import RenderableType
from rich.table import Table

from suffice.cli.figures import Figures, figures_table, number, percent, print_figures
from suffice.cli.options import Options, shared, tier_option
from suffice.cli.show import plain


@click.command("eval")
@click.argument("data", type=click.Path(exists=True, path_type=Path), nargs=-1, required=True)
@click.option(
    "--without",
    "off",
    multiple=True,
    metavar="RULE",
    help="Also evaluate with this rule switched off (repeatable).",
)
@click.option("--each", is_flag=True, help="Also evaluate with each rule switched off in turn.")
@click.option(
    "--twins",
    is_flag=True,
    help="Also ask each question with its answer removed from the documents.",
)
@click.option(
    "--measures",
    is_flag=True,
    help="Also measure faithfulness, relevance, context precision and recall, without an LLM.",
)
@click.option(
    "--leave-out",
    is_flag=True,
    help="Also decide each collection with thresholds chosen on the others.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of processes. Several have one thread each.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Save outcomes in FILE, and resume from it after an interruption.",
)
@click.option("--set", "only", default="", metavar="NAME", help="Only rows of this set.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help="Maximum number of questions, of drafts and of recorded drafts.",
)
@tier_option("Verifier tier")
@shared("config", "as_json", "quiet")
def eval(  # the command's own name
    options: Options,
    data: tuple[Path, ...],
    off: tuple[str, ...],
    each: bool,
    twins: bool,
    measures: bool,
    leave_out: bool,
    workers: int,
    resume: Path | None,
    only: str,
    limit: int | None,
    tier: str | None,
) -> int:
    """Decide every case of DATA and report how good the decisions are.

    DATA is one or more folders with questions.jsonl ("question", "answerable", and "answers_all":
    groups of texts; a right answer contains one text of each group, and none of "answers_none"),
    drafts.jsonl ("draft", "correct", "evidence") and docs/ or docs.tar.gz. DATA can also be a file
    of drafts, of claims as in `bench grounding`, or of cases with "passages" and "qa". With
    --without or --each, decisions are compared case by case.

    A folder with llm_drafts.jsonl ("question", "answerable", "evidence", "draft", "label": right,
    partial or declined) is also evaluated with this recorded LLM: its drafts go through the gate
    and the checks, and no LLM is called.

    With --leave-out, each collection is also decided with thresholds chosen on the others.

    With --twins, each answerable question is asked again after its answer was removed from the
    documents: the sentences in "quotes", or those that contain a text of "answers_all". An
    unanswerable question is asked again after the sentence in "adds" was added.
    """
    from suffice.lab.eval.cases import read_all
    from suffice.lab.eval.evaluation import evaluate
    from suffice.models.catalog import open_verifier

    with options.progress() as progress:
        verifier = open_verifier(options.settings.verifier, tier or "", options.settings.draft)
        cases = read_all(data, only)
        cases = cases.at_most(limit) if limit else cases
        found = evaluate(
            cases,
            options.settings,
            verifier,
            progress,
            off=off,
            each=each,
            twins=twins,
            measures=measures,
            leave_out=leave_out,
            resume=resume,
            workers=workers,
            tier=tier or "",
        )
    print_figures(found, _show(found), as_json=options.as_json)
    return 0


def _show(found: Figures) -> Iterator[RenderableType]:
    parts = {**found["collections"], "together": found}
    parts = {"together": found} if len(found["collections"]) == 1 else parts
    asked = {name: one["answers"] for name, one in parts.items() if one["questions"]}
    if asked:
        yield _answers("answers", asked)
    recorded = {name: one["recorded"] for name, one in parts.items() if one["recorded"]}
    if recorded:
        answers = {name: one["answers"] for name, one in recorded.items()}
        yield _answers("answers with the recorded LLM", answers)
        yield _fates(recorded["together"]["drafts"])
    for name, own in (found["left_out"] or {}).items():
        if own:
            title = "answers" if name == "answers" else "answers with the recorded LLM"
            yield _left_out(title, own)
    yield from (_outcomes(found), _labels(found["precision"]))
    if found["measures"]:
        yield _measures(found["measures"])
    if found["without"]:
        yield _compared(found["without"])
    yield from _notes(found)


_KINDS = ("right", "in part", "wrong", "refused")


def _answers(title: str, rows: Figures) -> Table:
    """Of 100 answerable questions and of 100 others, how many were answered in each way."""
    named = any(one["others"]["gap named"] for one in rows.values())
    others = ("answered", "gap named") if named else ("answered",)
    table = figures_table("of 100", "n", *_KINDS, "others", *others, title=title)
    for name, one in rows.items():
        counts = [str(one[key]["questions"]) for key in ("answerable", "others")]
        can, cannot = _of_100(one["answerable"], _KINDS), _of_100(one["others"], others)
        table.add_row(plain(name), counts[0], *can, counts[1], *cannot)
    return table


def _of_100(own: Figures, kinds: tuple[str, ...]) -> list[str]:
    count = own["questions"]
    return [f"{100 * own[kind] / count:.0f}" if count else "–" for kind in kinds]


def _left_out(title: str, found: Figures) -> Table:
    """Each collection with the thresholds chosen on the others, then with those in the settings."""
    title = f"{title}, thresholds chosen on the other collections"
    table = figures_table("of 100", "gate", "conf.", *_KINDS, "answered", title=title)
    rows = {**found["collections"], "together": found["all"]}
    for name, one in rows.items():
        for label, which, used in (
            (name, "left_out", one.get("chosen")),
            ("  as configured", "shipped", found["shipped"]),
        ):
            numbers = [f"{used[key]:.2f}" for key in ("gate", "confidence")] if used else ["", ""]
            own = one[which]
            cells = [*_of_100(own["answerable"], _KINDS), *_of_100(own["others"], ("answered",))]
            table.add_row(plain(label), *numbers, *cells)
    return table


def _fates(drafts: Figures) -> Table:
    table = figures_table("recorded draft", "drafts")
    for label, own in drafts.items():
        for fate, count in own.items():
            name = label if fate == "drafts" else f"  {fate}"
            table.add_row(name, str(count))
    return table


def _outcomes(found: Figures) -> Table:
    table = figures_table("outcome", "cases")
    for name, count in found["outcomes"].items():
        table.add_row(plain(name), str(count))
    return table


def _labels(precision: Figures) -> Table:
    table = figures_table("verdict", "served", "correct")
    for name, own in precision.items():
        table.add_row(name, str(own["served"]), percent(own["right"]))
    return table


def _measures(found: Figures) -> Table:
    table = figures_table("measure", "questions", "mean")
    for name, own in found.items():
        table.add_row(plain(name.replace("_", " ")), str(own["n"]), number(own["mean"]))
    return table


def _compared(rows: Figures) -> Table:
    table = figures_table("without rule", "better", "worse", "change", "95 % interval")
    ranked = sorted(rows.items(), key=lambda item: -item[1]["change"])
    for name, own in ranked:
        low, high = own["interval"]
        change, interval = f"{own['change']:+.3f}", f"{low:+.3f} to {high:+.3f}"
        table.add_row(plain(name), str(own["better"]), str(own["worse"]), change, interval)
    return table


def _notes(found: Figures) -> list[str]:
    pairs, covered, f1 = found["pairs_told_apart"], found["coverage"], found["f1"]
    twins = found["twins"]
    lines = [
        f"{found['model']} ({found['tier']}) · {found['cases']} cases, {percent(found['good'])}"
    ]
    lines[0] += " good decisions"
    if covered is not None:
        lines.append(f"Questions served: {percent(covered)}")
        refusals = found["abstention"]
        lines.append(
            f"Refusals: {refusals['refused']}, precision {percent(refusals['precision'])}, "
            f"recall {percent(refusals['recall'])} (of the unanswerable questions)"
        )
    if twins and twins["questions"]:
        lines.append(
            f"{twins['questions']} twins: correct with the answer {percent(twins['right_with'])}, "
            f"not served without it {percent(twins['not_served_without'])}, "
            f"both {percent(twins['both'])}"
        )
    if pairs is not None:
        lines.append(f"Draft pairs where only the correct draft is served: {percent(pairs)}")
    if f1 is not None:
        lines.append(f"F1 for wrong drafts (flagged: any verdict but SERVE): {f1:.3f}")
    return lines
