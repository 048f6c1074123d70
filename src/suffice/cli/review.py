"""`suffice review`: what waits for a person, what people decided, what the documents lack."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
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
from suffice.log.moment import written
from suffice.record.decision import Decision, Filing
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
_MOST = click.option("--most", type=click.IntRange(1, 10_000), default=PAGE, show_default=True)


def _reader(context: click.Context, option: click.Parameter, labels: Any) -> Reader | None:
    return Reader(frozenset(labels)) if labels else None


def _as_reader(command: F) -> F:
    """`--label`: to see what one who holds these may see."""
    return click.option(
        "--label",
        "reader",
        multiple=True,
        callback=_reader,
        help="As a holder of this label: only what that one may read (default: all).",
    )(command)


def _times(command: F) -> F:
    """`--since`, `--until`."""
    since = click.option("--since", type=_MOMENT, metavar="TIME", help="From then on (UTC).")
    until = click.option("--until", type=_MOMENT, metavar="TIME", help="Before then (UTC).")
    return since(until(command))


def _between(since: datetime | None, until: datetime | None) -> Choice:
    moments = (written(m.replace(tzinfo=UTC)) if m else "" for m in (since, until))
    return Choice(since=next(moments), until=next(moments))


@click.group()
def review() -> None:
    """Look at what waits for a person, and decide on it."""


@review.command(name="list")
@click.option("--all", "all_", is_flag=True, help="Also what was decided on.")
@click.option("--why", type=click.Choice([why.value for why in Why]), help="Only what is there so.")
@click.option("--before", type=int, metavar="NUMBER", help="The page before this place.")
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
    """What waits for a person, newest first."""
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
    """The decision ID (or its number) with all that was said and done about it."""
    case = Review(open_log(read_settings(config), store)).case(id, reader)
    to_json.show(shown.case(case)) if as_json else shown.show_case(case)
    return 0


@review.command()
@click.argument("id")
@click.argument("act", type=click.Choice([act.value for act in Act]), metavar="ACT")
@click.option("--reason", required=True, help="Why, for the record.")
@click.option("--by", default=user, help="Who decides (default: your user name).")
@_as_reader
@of_store
def decide(
    id: str,
    act: str,
    reason: str,
    by: str,
    reader: Reader | None,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Decide on the record ID (or its number).

    ACT is release (an answer that was held back leaves, with a caveat), withdraw (an answer that
    left was wrong), open (the gate was wrong to stay shut: an answer is written and checked),
    confirm (it was decided rightly) or dismiss (off the queue, nothing was judged).
    """
    settings = read_settings(config)
    log = open_log(settings, store)
    if Act(act) is Act.OPEN:
        return _open(log, settings, id, reason, by, reader, as_json)
    done = Review(log).decide(id, Act(act), reason=reason, by=by, reader=reader)
    case = Review(log).case(id, reader)
    if as_json:
        to_json.show({"decision": done, **shown.line(case)})
    else:
        shown.show_decided(case)
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
    """What is written is shown as `ask` shows it, and kept with the setup it was written with."""
    desk = Review(log)
    case = desk.case(id, reader)
    passages = case.entry.fields().get("passages", ())
    collection = next((p.get("collection", "default") for p in passages), "default")
    labels = frozenset(label for passage in passages for label in passage.get("access", ()))
    write, setup = _writer(log, settings, Filter(collection=collection, labels=labels))
    filing = Filing(case.entry.caller, case.entry.tag, setup.record())
    verdict, record = desk.open(id, write, reason=reason, by=by, filing=filing, reader=reader)
    if as_json:
        to_json.show({**to_json.verdict(verdict), "record": record})
    else:
        show_verdict(verdict)
        click.echo(f"Record {record}")
    return 0


def _writer(log: Log, settings: Settings, allowed: Filter) -> tuple[Writes, Any]:
    from suffice.gate.gate import Weighed
    from suffice.models.catalog import open_embedder, open_verifier
    from suffice.pipeline import Pipeline  # the other commands do without models

    own = settings.collection(allowed.collection)
    embedder, verifier = (
        open_embedder(settings.embedder),
        open_verifier(settings.verifier, "", own.draft),
    )
    documents = StoredDocuments(Store(log.database), allowed)
    pipeline = Pipeline.of(lambda question: (), embedder, own, verifier, documents)

    def write(decision: Decision, note: str) -> tuple[Verdict, Trace]:
        return pipeline.open(Weighed(decision.evidence, decision.gate), decision.trace, note)

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
    """What was asked and the documents cannot answer, the most asked first."""
    desk = Review(open_log(read_settings(config), store))
    found = desk.gaps(_between(since, until), most, reader)
    to_json.show([shown.gap(one) for one in found]) if as_json else shown.show_gaps(found)
    return 0


@review.command()
@_times
@click.option("--confidence", type=click.FloatRange(0.5, 0.9999), default=0.95, show_default=True)
@of_store
def errors(
    since: datetime | None,
    until: datetime | None,
    confidence: float,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """How often served answers are wrong, by the sample that people judged."""
    desk = Review(open_log(read_settings(config), store))
    found = desk.errors(_between(since, until), confidence)
    to_json.show(shown.estimate(found)) if as_json else shown.show_estimate(found)
    return 0
