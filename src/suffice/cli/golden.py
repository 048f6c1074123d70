"""`suffice golden` and `suffice gaps`: regressions, and topics that are not covered."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from suffice import schema
from suffice.access.visibility import Reader
from suffice.cli import as_json as to_json
from suffice.cli.asking import bring_in
from suffice.cli.options import LLM, MODEL, Options, check_collection, common
from suffice.cli.recording import RECORD_RUN, record_run, user
from suffice.cli.show import plain, uncovered
from suffice.engine import Caller, Engine
from suffice.errors import SettingsError, StoreMissing
from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.lab.golden import (
    Comparison,
    Difference,
    FailedCase,
    GoldenCase,
    Run,
    compare,
    failed_cases,
    github_annotations,
    of_golden,
    read_golden,
    read_run,
    run,
)
from suffice.lab.golden import junit as junit_of
from suffice.lab.monitor.gaps import MOST_WORDINGS, Answered, Topic, backlog
from suffice.log.chain import now, timestamp
from suffice.log.log import PAGE, Log
from suffice.log.stored import RecordFilter
from suffice.pipeline import Pipeline
from suffice.review.review import Review
from suffice.text.one_line import one_line
from suffice.types import Level, Source, Verdict
from suffice.verdict.decide import nearest


@click.group()
def golden() -> None:
    """Run a golden set of questions and detect regressions."""


@golden.command(name="run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--docs", help="Folder or file of documents; indexed if needed.")
@LLM
@MODEL
@click.option("--label", "labels", multiple=True, help="Access label you hold (repeatable).")
@click.option(
    "--baseline",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="RUN",
    help="Earlier run to compare with (default: the last run, FILE with .run.json).",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="RUN",
    help="Where to write this run (default: FILE with .run.json).",
)
@click.option("--strict", is_flag=True, help="Fail if any case fails, even if it failed before.")
@click.option(
    "--github",
    is_flag=True,
    help="Also print each failing case as an annotation of GitHub Actions (standard error).",
)
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="XML",
    help="Also write the outcomes as a JUnit file.",
)
@click.option("--accept", is_flag=True, help="Save this run as the last one despite regressions.")
@RECORD_RUN
@common
def run_(
    options: Options,
    file: Path,
    docs: str | None,
    llm: str | None,
    model: str | None,
    labels: tuple[str, ...],
    baseline: Path | None,
    out: Path | None,
    strict: bool,
    github: bool,
    junit: Path | None,
    accept: bool,
    record: bool | None,
) -> int:
    """Ask every question in FILE and compare the outcomes with those of the last run.

    FILE holds JSON lines: "question"; "verdict" (SERVE, CAVEAT, CONFLICT, WITHHOLD or REVIEW, or a
    list of allowed ones); "answers_all" (groups of texts; the answer must contain one of each);
    "answerable" (instead of a verdict); "collection" (default: --collection). The log gets one
    record with the figures of the run, and none of its answers.

    Exit code 1: a case that passed before now fails. The last run then stays the baseline, so the
    next run fails too, unless you pass --accept.
    """
    cases = read_golden(file)
    library = options.library(docs)
    if docs is not None:
        bring_in(library, docs, options.collection, strict=False, quiet=options.quiet)
    for name in {case.question.collection or options.collection for case in cases}:
        check_collection(library.store, name)
    place = out or file.with_suffix(".run.json")
    last = baseline or (place if place.is_file() else None)
    before = read_run(last) if last else None
    ask = _Asking(library, options.collection, frozenset(labels), llm, model)
    with options.progress() as progress:
        found = run(cases, ask, file, progress)
    compared = compare(before, found)
    failed = bool(compared.regressions) or (strict and found.passed < len(found.cases))
    if accept or not compared.regressions:
        found.write(place)
    _report(file, failed_cases(cases, found, compared, strict=strict), found, github, junit)
    made = of_golden(found, compared, file.name, user())
    record_run(library, made, record=record, kept=docs is None or options.store is not None)
    if options.as_json:
        told = {"passed": found.passed, "cases": len(found.cases), "failed": failed}
        to_json.show({**told, **asdict(compared), "run": dict(found.run)})
    else:
        _show(found, compared, before)
    return int(failed)


def _report(
    file: Path, failing: Sequence[FailedCase], found: Run, github: bool, junit: Path | None
) -> None:
    if github:
        for line in github_annotations(file, failing):
            click.echo(line, err=True)
    if junit is not None:
        junit.write_text(junit_of(file, found, failing), encoding="utf-8")


class _Asking:
    """Answers cases with one pipeline per collection."""

    def __init__(
        self,
        library: Library,
        collection: str,
        labels: frozenset[str],
        llm: str | None,
        model: str | None,
    ) -> None:
        self._library, self._collection, self._labels = library, collection, labels
        self._llm, self._model = llm, model
        self._pipelines: dict[str, Pipeline] = {}

    def __call__(self, case: GoldenCase) -> Verdict:
        name = case.question.collection or self._collection
        if name not in self._pipelines:
            self._pipelines[name] = self._pipeline(name)
        return self._pipelines[name].answer(case.question.question)

    def _pipeline(self, name: str) -> Pipeline:
        own = self._library.settings.collection(name)
        draft = replace(
            own.draft, llm=self._llm or own.draft.llm, model=self._model or own.draft.model
        )
        engine = Engine(replace(self._library.settings, draft=draft), self._library)
        caller = Caller(Filter(collection=name, labels=self._labels))
        return engine.pipeline(caller, replace(own, draft=draft))


def _show(found: Run, compared: Comparison, before: Run | None) -> None:
    console = Console()
    was = f" (before: {before.passed} of {len(before.cases)})" if before else ""
    console.print(Text(f"{found.passed} of {len(found.cases)} cases pass{was}.", style="bold"))
    if compared.regressions:
        console.print(_table("Regressions", compared.regressions, "red"))
    if compared.fixed:
        console.print(_table("Fixed", compared.fixed, "green"))
    if compared.still:
        console.print(_table("Still failing", compared.still, "yellow"))
    for name in compared.new:
        one = found.cases[name]
        console.print(
            plain(f"Fails: {name} ({one.action}: {one_line(one.released or one.reason, _LONGEST)})")
        )
    for name in compared.removed:
        console.print(plain(f"No longer in the set: {name}", "dim"))
    if not compared.regressions:
        console.print(Text("No regressions.", style="green"))


def _table(title: str, rows: tuple[Difference, ...], style: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, title=title, title_style=style, title_justify="left"
    )
    for name in ("question", "was", "now", "output now"):
        table.add_column(name, overflow="fold")
    for one in rows:
        said: Any = one_line(one.now.released or one.now.reason, _LONGEST)
        table.add_row(plain(one.question), one.was.action, one.now.action, plain(said))
    return table


_LONGEST = 100
"""Characters of an answer or a reason in a table."""
_DAY = click.DateTime(["%Y-%m-%d"])
_FORMATS = (".csv", ".json", ".md")


@click.command()
@click.option("--since", type=_DAY, metavar="DATE", help="Only questions asked on or after DATE.")
@click.option(
    "--most",
    type=click.IntRange(1, 10_000),
    default=PAGE,
    show_default=True,
    help="Maximum number of topics.",
)
@click.option(
    "--label", "labels", multiple=True, help="Access label of the documents (repeatable)."
)
@click.option(
    "--export",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all topics to FILE: .csv, .json or .md (a checklist).",
)
@common
def gaps(
    options: Options,
    since: datetime | None,
    most: int,
    labels: tuple[str, ...],
    export: Path | None,
) -> int:
    """List topics of withheld questions that the documents do not cover, most frequent first.

    Questions are grouped by meaning. Each question goes through the gate again: if the documents
    now answer it, it is no longer a gap.
    """
    if export is not None and export.suffix not in _FORMATS:
        raise SettingsError(
            f"The file format of {export} is not supported.",
            remedy=f"Use a file name that ends in {', '.join(_FORMATS)}.",
        )
    settings = options.settings
    library = options.library()
    check_collection(library.store, options.collection)
    log = Log(library.store.database, settings.record)
    click.get_current_context().call_on_close(log.close)
    choice = RecordFilter(since=timestamp(since.replace(tzinfo=UTC)) if since else "")
    reader = Reader(frozenset(labels), audits=True) if labels else None
    asked = Review(log).gaps(choice, MOST_WORDINGS, reader)
    with options.progress() as progress:
        ask = _counted(_answered(library, options.collection, labels), len(asked), progress)
        found = backlog(asked, library.embedder, ask, now())
    if export is not None:
        _write(found, export)
    if options.as_json:
        to_json.show([tree(topic) for topic in found[:most]])
    else:
        _show_gaps(found[:most])
        if export is not None:
            click.echo(f"Wrote {len(found)} topics to {export}.")
    return 0


def _answered(library: Library, collection: str, labels: Sequence[str]) -> Answered:
    """Run a question through the gate with the current documents, without recording it."""
    own = library.settings.collection(collection)
    engine = Engine(replace(library.settings, draft=own.draft), library)
    try:
        pipeline = engine.pipeline(Caller(Filter(collection=collection, labels=frozenset(labels))))
    except StoreMissing:  # nothing is indexed, so nothing is answered
        return lambda question: (False, ())

    def answered(question: str) -> tuple[bool, tuple[Source, ...]]:
        evidence, decision = pipeline.retrieve_and_gate(question)
        return decision.level is Level.SUFFICIENT, nearest(evidence)

    return answered


def _counted(answered: Answered, total: int, progress: Any) -> Answered:
    done = 0

    def counted(question: str) -> tuple[bool, tuple[Source, ...]]:
        nonlocal done
        done += 1
        found = answered(question)
        progress("questions", done, total)
        return found

    return counted


def tree(topic: Topic) -> dict[str, Any]:
    return {
        "question": topic.question,
        "wordings": list(topic.wordings),
        "count": topic.count,
        "trend": topic.trend,
        "last_7_days": topic.recent,
        "7_days_before": topic.before,
        "first": topic.first,
        "last": topic.last,
        "missing": list(topic.missing),
        "nearest": schema.tree(tuple(map(schema.Nearest.of, topic.nearest))),
        "records": list(topic.records),
    }


def _write(found: Sequence[Topic], path: Path) -> None:
    if path.suffix == ".json":
        text = json.dumps([tree(topic) for topic in found], ensure_ascii=False, indent=2)
        path.write_text(f"{text}\n", encoding="utf-8")
        return
    if path.suffix == ".md":
        path.write_text("".join(_item(topic) for topic in found), encoding="utf-8")
        return
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(("question", "count", "trend", "last", "wordings", "missing", "nearest"))
        for topic in found:
            near = "; ".join(one.document for one in topic.nearest)
            words, lacks = "; ".join(topic.wordings), "; ".join(topic.missing)
            cells = (topic.question, topic.count, topic.trend, topic.last[:10], words, lacks, near)
            rows.writerow([_cell(cell) for cell in cells])


def _cell(value: object) -> object:
    """Escape text that a spreadsheet would run as a formula, because questions come from users."""
    dangerous = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
    return f"'{value}" if dangerous else value


def _item(topic: Topic) -> str:
    others = [one for one in topic.wordings if one != topic.question]
    lines = [f"- [ ] {one_line(topic.question)} ({_asked(topic)})"]
    lines += [f"  - also: {one_line(one)}" for one in others]
    lines += [f"  - nearest: {one_line(one.document)}" for one in topic.nearest]
    return "\n".join(lines) + "\n"


def _asked(topic: Topic) -> str:
    times = "once" if topic.count == 1 else f"{topic.count} times"
    return f"asked {times}, {topic.trend}, last {topic.last[:10]}"


def _show_gaps(found: Sequence[Topic]) -> None:
    console = Console()
    if not found:
        console.print(Text("No gaps: the documents cover every question that was withheld."))
    for topic in found:
        head = Text.assemble(plain(topic.question, "bold"), (f"  {_asked(topic)}", "dim"))
        console.print(head, soft_wrap=True)
        for other in topic.wordings:
            if other != topic.question:
                console.print(Padding(plain(f"also: {other}"), (0, 0, 0, 2)))
        if topic.missing:
            console.print(Padding(uncovered(topic.missing, ""), (0, 0, 0, 2)))
        for source in topic.nearest:
            near = "" if source.relevance is None else f", similarity {source.relevance:.2f}"
            console.print(Padding(plain(f"Nearest: {source.document}{near}", "dim"), (0, 2)))
        console.print()
