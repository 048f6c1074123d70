"""`suffice gaps`: topics that the documents do not cover, as a backlog."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from suffice.access.visibility import Reader
from suffice.cli import as_json as to_json
from suffice.cli.asking import OpenedQuestion
from suffice.cli.options import check_collection, common, open_library
from suffice.cli.progress import bars
from suffice.cli.show import plain, uncovered
from suffice.errors import SettingsError, StoreMissing
from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.learn.monitor.gaps import MOST_WORDINGS, Answered, Topic, backlog
from suffice.log.entry import Choice
from suffice.log.moment import now, timestamp
from suffice.record.log import PAGE, Log
from suffice.review.review import Review
from suffice.settings import read_settings
from suffice.types import Level, Source
from suffice.verdict.decide import nearest

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
    since: datetime | None,
    most: int,
    labels: tuple[str, ...],
    export: Path | None,
    config: str | None,
    store: str | None,
    collection: str,
    as_json: bool,
    quiet: bool,
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
    settings = read_settings(config)
    library = open_library(settings, store)
    check_collection(library.store, collection)
    log = Log(library.store.database, settings.record)
    click.get_current_context().call_on_close(log.close)
    choice = Choice(since=timestamp(since.replace(tzinfo=UTC)) if since else "")
    reader = Reader(frozenset(labels), audits=True) if labels else None
    asked = Review(log).gaps(choice, MOST_WORDINGS, reader)
    with bars(quiet=quiet) as progress:
        ask = _counted(_answered(library, collection, labels), len(asked), progress)
        found = backlog(asked, library.embedder, ask, now())
    if export is not None:
        _write(found, export)
    if as_json:
        to_json.show([tree(topic) for topic in found[:most]])
    else:
        _show(found[:most])
        if export is not None:
            click.echo(f"Wrote {len(found)} topics to {export}.")
    return 0


def _answered(library: Library, collection: str, labels: Sequence[str]) -> Answered:
    """Run a question through the gate with the current documents, without recording it."""
    allowed = Filter(collection=collection, labels=frozenset(labels))
    try:
        search = library.search(allowed)
    except StoreMissing:  # nothing is indexed, so nothing is answered
        return lambda question: (False, ())
    own = library.settings.collection(collection)
    pipeline = OpenedQuestion("", search, library, own, False).pipeline()

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
        "nearest": [to_json.source(one) for one in topic.nearest],
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
    lines = [f"- [ ] {_line(topic.question)} ({_asked(topic)})"]
    lines += [f"  - also: {_line(one)}" for one in others]
    lines += [f"  - nearest: {_line(one.document)}" for one in topic.nearest]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())


def _asked(topic: Topic) -> str:
    times = "once" if topic.count == 1 else f"{topic.count} times"
    return f"asked {times}, {topic.trend}, last {topic.last[:10]}"


def _show(found: Sequence[Topic]) -> None:
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
