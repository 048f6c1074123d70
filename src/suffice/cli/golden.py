"""`suffice golden`: run a golden set and detect regressions before a deployment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.cli import as_json as to_json
from suffice.cli.asking import OpenedQuestion, bring_in
from suffice.cli.options import check_collection, common, open_library
from suffice.cli.progress import bars
from suffice.cli.recording import RECORD_RUN, record_run, user
from suffice.cli.show import plain
from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.learn.golden.cases import GoldenCase, read_golden
from suffice.learn.golden.ci import FailedCase, failed_cases, github_annotations
from suffice.learn.golden.ci import junit as junit_of
from suffice.learn.golden.run import Comparison, Difference, Run, compare, read_run, run
from suffice.learn.runs import of_golden
from suffice.pipeline import Pipeline
from suffice.settings import read_settings
from suffice.types import Verdict


@click.group()
def golden() -> None:
    """Run a golden set of questions and detect regressions."""


@golden.command(name="run")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--docs", help="Folder or file of documents; indexed if needed.")
@click.option("--llm", help="Drafter: extractive, or the base URL of an LLM endpoint.")
@click.option("--model", help="Model name at that endpoint.")
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
    config: str | None,
    store: str | None,
    collection: str,
    as_json: bool,
    quiet: bool,
) -> int:
    """Ask every question in FILE and compare the outcomes with those of the last run.

    FILE holds JSON lines: "question"; "verdict" (SERVE, CAVEAT, CONFLICT, WITHHOLD or REVIEW, or a
    list of allowed ones); "answers_all" (groups of texts; the answer must contain one of each);
    "answerable" (instead of a verdict); "collection" (default: --collection). The log gets one
    record with the figures of the run, and none of its answers.

    Exit code 1: a case that passed before now fails. The last run then stays the baseline, so the
    next run fails too, unless you pass --accept.
    """
    settings = read_settings(config)
    cases = read_golden(file)
    library = open_library(settings, store, docs)
    if docs is not None:
        bring_in(library, docs, collection, strict=False, quiet=quiet)
    for name in {case.question.collection or collection for case in cases}:
        check_collection(library.store, name)
    place = out or file.with_suffix(".run.json")
    last = baseline or (place if place.is_file() else None)
    before = read_run(last) if last else None
    ask = _Asking(library, collection, frozenset(labels), llm, model)
    with bars(quiet=quiet) as progress:
        found = run(cases, ask, file, progress)
    compared = compare(before, found)
    failed = bool(compared.regressions) or (strict and found.passed < len(found.cases))
    if accept or not compared.regressions:
        found.write(place)
    _report(file, failed_cases(cases, found, compared, strict=strict), found, github, junit)
    made = of_golden(found, compared, file.name, user())
    record_run(library, made, record=record, kept=docs is None or store is not None)
    if as_json:
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
        search = self._library.search(Filter(collection=name, labels=self._labels))
        own = replace(own, draft=draft)
        return OpenedQuestion("", search, self._library, own, False).pipeline()


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
        console.print(plain(f"Fails: {name} ({one.action}: {_brief(one.released or one.reason)})"))
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
        said: Any = _brief(one.now.released or one.now.reason)
        table.add_row(plain(one.question), one.was.action, one.now.action, plain(said))
    return table


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 100 else f"{line[:99]}…"
