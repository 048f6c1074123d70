"""`suffice review`: the review queue, decisions, gaps in the documents and error estimates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from suffice.access.visibility import Reader
from suffice.cli import as_json as to_json
from suffice.cli import show_review as shown
from suffice.cli.of_store import of_store, open_log
from suffice.cli.recording import user
from suffice.cli.show_verdict import show_verdict
from suffice.evidence.documents import StoredDocuments
from suffice.evidence.index import Filter
from suffice.evidence.store import Store
from suffice.log.entry import Choice
from suffice.log.moment import timestamp
from suffice.record.decision import Decision
from suffice.record.log import PAGE, Log
from suffice.record.sampling import Why
from suffice.record.setup import Setup
from suffice.record.trace import Trace
from suffice.review.case import Act
from suffice.review.queue import Wanted
from suffice.review.review import Review, Writes
from suffice.settings import Settings, read_settings
from suffice.types import Verdict

F = TypeVar("F", bound=Callable[..., Any])
_MOMENT = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])
_MOST = click.option(
    "--most",
    type=click.IntRange(1, 10_000),
    default=PAGE,
    show_default=True,
    help="Maximum number of entries.",
)


def _reader(context: click.Context, option: click.Parameter, labels: Any) -> Reader | None:
    return Reader(frozenset(labels), audits=True) if labels else None


def _as_reader(command: F) -> F:
    """Add `--label`, which restricts the output to what a holder of the labels may read."""
    return click.option(
        "--label",
        "reader",
        multiple=True,
        callback=_reader,
        help="Show only what a holder of this access label may read (repeatable; default: all).",
    )(command)


def _times(command: F) -> F:
    """Add `--since` and `--until`."""
    since = click.option("--since", type=_MOMENT, metavar="TIME", help="At or after TIME (UTC).")
    until = click.option("--until", type=_MOMENT, metavar="TIME", help="Before TIME (UTC).")
    return since(until(command))


def _between(since: datetime | None, until: datetime | None) -> Choice:
    moments = (timestamp(m.replace(tzinfo=UTC)) if m else "" for m in (since, until))
    return Choice(since=next(moments), until=next(moments))


@click.group()
def review() -> None:
    """List decisions that await human review, and decide them."""


@review.command(name="list")
@click.option("--all", "all_", is_flag=True, help="Include entries that were already decided.")
@click.option(
    "--why",
    type=click.Choice([why.value for why in Why]),
    help="Only entries queued for this reason.",
)
@click.option("--before", type=int, metavar="NUMBER", help="Only entries before this number.")
@_MOST
@_as_reader
@of_store
def list_(
    all_: bool,
    why: str | None,
    before: int | None,
    most: int,
    reader: Reader | None,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """List the review queue, newest first."""
    wanted = Wanted(all_, Why(why) if why else None, before)
    cases = Review(open_log(read_settings(config), store)).queue(wanted, most, reader)
    to_json.show([shown.line(case) for case in cases]) if as_json else shown.show_queue(cases)
    return 0


@review.command()
@click.argument("id")
@_as_reader
@of_store
def show(
    id: str, reader: Reader | None, config: str | None, store: str | None, as_json: bool
) -> int:
    """Show the decision with this ID or number, its evidence and its review history."""
    case = Review(open_log(read_settings(config), store)).case(id, reader)
    to_json.show(shown.case(case)) if as_json else shown.show_case(case)
    return 0


@review.command()
@click.argument("id")
@click.argument("act", type=click.Choice([act.value for act in Act]), metavar="ACT")
@click.option("--reason", required=True, help="Reason, stored in the record.")
@click.option("--text", default="", help="The answer in your words, for the decision correct.")
@click.option("--by", default=user, help="Reviewer (default: your user name).")
@_as_reader
@of_store
def decide(
    id: str,
    act: str,
    reason: str,
    text: str,
    by: str,
    reader: Reader | None,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Decide on the record with this ID or number.

    ACT is release (release a withheld answer, with a caveat), correct (release an answer in your
    words, see --text), withdraw (a released answer was wrong), open (the gate was wrongly closed:
    write and check an answer), confirm (the decision was right) or dismiss (remove from the queue
    without a judgement).
    """
    settings = read_settings(config)
    log = open_log(settings, store)
    if Act(act) is Act.OPEN:
        return _open(log, settings, id, reason, by, reader, as_json)
    done = Review(log).decide(id, Act(act), reason=reason, by=by, text=text, reader=reader)
    case = Review(log).case(id, reader)
    to_json.show({"decision": done, **shown.line(case)}) if as_json else shown.show_decided(case)
    return 0


def _open(
    log: Log,
    settings: Settings,
    id: str,
    reason: str,
    by: str,
    reader: Reader | None,
    as_json: bool,
) -> int:
    """Write an answer even though the gate was closed, and record it with the current setup."""
    reviews = Review(log)
    case = reviews.case(id, reader)
    passages = case.entry.fields().get("passages", ())
    collection = next((p.get("collection", "default") for p in passages), "default")
    labels = frozenset(label for passage in passages for label in passage.get("access", ()))
    write, setup = _writer(log, settings, Filter(collection=collection, labels=labels))
    filing = setup.filing(case.entry.caller, case.entry.tag)
    verdict, record = reviews.open(id, write, reason=reason, by=by, filing=filing, reader=reader)
    if as_json:
        to_json.show({**to_json.verdict(verdict), "record": record})
    else:
        show_verdict(verdict)
        click.echo(f"Record {record}")
    return 0


def _writer(log: Log, settings: Settings, allowed: Filter) -> tuple[Writes, Any]:
    from suffice.gate.gate import GateResult
    from suffice.models.catalog import open_embedder, open_verifier
    from suffice.pipeline import Pipeline  # the other commands need no models

    own = settings.collection(allowed.collection)
    embedder, verifier = (
        open_embedder(settings.embedder),
        open_verifier(settings.verifier, "", own.draft),
    )
    documents = StoredDocuments(Store(log.database), allowed)
    pipeline = Pipeline.of(lambda question: (), embedder, own, verifier, documents)

    def write(decision: Decision, note: str) -> tuple[Verdict, Trace]:
        return pipeline.override(GateResult(decision.evidence, decision.gate), decision.trace, note)

    return write, Setup.of(settings, own, embedder.id, verifier.id)


@review.command()
@_times
@_MOST
@_as_reader
@of_store
def gaps(
    since: datetime | None,
    until: datetime | None,
    most: int,
    reader: Reader | None,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """List questions that the documents cannot answer, most frequent first."""
    reviews = Review(open_log(read_settings(config), store))
    found = reviews.gaps(_between(since, until), most, reader)
    to_json.show([shown.gap(item) for item in found]) if as_json else shown.show_gaps(found)
    return 0


@review.command()
@_times
@click.option("--out", type=click.Path(path_type=Path), help="Output file (default: stdout).")
@of_store
def export(
    since: datetime | None,
    until: datetime | None,
    out: Path | None,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Export the sampled answers, with their judgements and sampling probabilities, as JSON lines
    for `suffice calibrate`."""
    rows = Review(open_log(read_settings(config), store)).labels(_between(since, until))
    to_json.write_lines(rows, out)
    return 0


@review.command()
@_times
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="Confidence level of the interval.",
)
@of_store
def errors(
    since: datetime | None,
    until: datetime | None,
    confidence: float,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Estimate the error rate of served answers from the judged sample."""
    reviews = Review(open_log(read_settings(config), store))
    found = reviews.errors(_between(since, until), confidence)
    to_json.show(shown.estimate(found)) if as_json else shown.show_estimate(found)
    return 0
