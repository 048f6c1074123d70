"""`suffice review`: the review queue, decisions, gaps in the documents and error estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from suffice import schema
from suffice.access.visibility import Reader
from suffice.cli import as_json as to_json
from suffice.cli.options import Options, of_store
from suffice.cli.recording import user
from suffice.cli.show import origin, plain, show_gate, uncovered
from suffice.cli.show_verdict import show_verdict
from suffice.evidence.index import Filter
from suffice.evidence.store import Store
from suffice.log.chain import timestamp
from suffice.log.decision import Decision, Filing
from suffice.log.log import PAGE, Log, Why
from suffice.log.record import Entry
from suffice.log.stored import RecordFilter
from suffice.log.trace import Trace
from suffice.review.case import Act, Case, Rating
from suffice.review.gaps import Gap
from suffice.review.labels import Estimate
from suffice.review.queue import CaseFilter
from suffice.review.review import Review, Writes
from suffice.settings import Settings
from suffice.types import Evidence, Support, Verdict
from suffice.verdict.assess import ClaimStatus, claim_statuses

_COLOUR = {"SERVE": "green", "CAVEAT": "green", "CONFLICT": "yellow", "SUFFICIENT": "green"}
_FRAME = 33
"""Width of the number, the time and the column spacing in a queue line, in characters."""


def line_json(value: Case) -> dict[str, Any]:
    """A case without its evidence and verdict."""
    return {
        "id": value.entry.id,
        "sequence": value.entry.sequence,
        "time": value.entry.time,
        "kind": value.entry.kind,
        "caller": value.entry.caller or None,
        "question": value.question,
        "outcome": value.outcome or None,
        "why": list(value.why),
        "probability": value.probability,
        "waits": value.open,
        "decided": [
            {
                "id": one.id,
                "time": one.time,
                "act": one.act.value,
                "by": one.by or None,
                "reason": one.reason,
                "result": one.result or None,
            }
            for one in value.decided
        ],
        "feedback": [
            {
                "id": one.id,
                "time": one.time,
                "rating": one.rating.value if one.rating else None,
                "comment": one.comment,
                "by": one.by or None,
            }
            for one in value.feedback
        ],
    }


def case_json(value: Case) -> dict[str, Any]:
    found: dict[str, Any] = {**line_json(value), "lacking": value.lacking or None}
    if value.recorded is None:
        return found
    gate, evidence, current = value.recorded.gate, value.recorded.evidence, value.verdict
    found |= {"gate": schema.FullGate.of(gate)}
    passages = tuple(map(schema.FoundPassage.of, evidence))
    found |= {"passages": passages, "verdict": None}
    if current is None:
        return found
    draft, numbers = current.draft, {p.id: n for n, p in enumerate(evidence.passages, 1)}
    findings = [
        {"claim": item.claim.text, **schema.tree(schema.Finding.of(item, numbers))}
        for item in current.findings
    ]
    verdict = {"draft": draft.text if draft else None, "findings": findings}
    return {**found, "verdict": {**schema.tree(schema.Answer.of(current)), **verdict}}


def gap_json(value: Gap) -> dict[str, Any]:
    return {
        "question": value.question,
        "count": value.count,
        "first": value.first,
        "last": value.last,
        "missing": list(value.missing),
        "nearest": tuple(map(schema.Nearest.of, value.nearest)),
        "records": list(value.records),
    }


def estimate_json(value: Estimate) -> dict[str, Any]:
    names = ("rate", "low", "high", "confidence", "population", "drawn", "judged", "wrong")
    return {name: getattr(value, name) for name in names}


def show_queue(cases: Sequence[Case]) -> None:
    """Print a line per case. A narrow terminal truncates lines; `--json` has the full text."""
    console = Console()
    if not cases:
        console.print(Text("The review queue is empty.", style="green"))
        return
    rows = [(item, item.outcome, _state(item)) for item in cases]
    taken = max(len(result) for _, result, _ in rows) + max(len(why) for _, _, why in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("number", justify="right", no_wrap=True)
    for name in ("time", "outcome", "why"):
        table.add_column(name, no_wrap=True)
    room = max(20, console.width - taken - _FRAME)
    table.add_column("question", no_wrap=True, overflow="ellipsis", max_width=room)
    for item, result, why in rows:
        table.add_row(
            str(item.entry.sequence),
            item.entry.time[5:16].replace("T", " "),
            Text(result, style=_COLOUR.get(result, "red")),
            Text(why, style="" if item.open else "dim"),
            plain(item.question),
        )
    console.print(table)
    console.print(
        Text("suffice review show NUMBER · suffice review decide NUMBER ACT", style="dim")
    )


def _state(value: Case) -> str:
    """Why the case is queued, or the last decision on it."""
    return ", ".join(value.why) if value.open else value.decided[-1].act.value


def show_case(value: Case) -> None:
    console = Console()
    console.print(plain(value.question or "(the question is not stored)", "bold"))
    console.print(plain(" · ".join(_facts(value)), "dim"))
    if value.queued:
        chance = (
            f" (probability {value.probability:g})" if value.probability not in (1, None) else ""
        )
        state = "Awaiting review" if value.open else "Reviewed"
        console.print(plain(f"{state}: {', '.join(value.why)}{chance}", "dim"))
    console.print()
    if value.recorded is None:
        console.print(Text(value.lacking, style="yellow"))
    else:
        _show_decision(value.recorded, value.verdict, console)
    for part in _history(value):
        console.print(part)


def _facts(value: Case) -> Iterator[str]:
    yield f"Record {value.entry.id}"
    yield value.entry.time[:19].replace("T", " ")
    if value.entry.caller:
        yield f"asked by {value.entry.caller}"


def _show_decision(recorded: Decision, verdict: Verdict | None, console: Console) -> None:
    if verdict is None:
        show_gate(recorded.gate, recorded.evidence, console)
    else:
        show_verdict(verdict, console)
        for part in _written(verdict):
            console.print(part)
    console.print(_passages(recorded.evidence))


def _written(verdict: Verdict) -> Iterator[RenderableType]:
    """The draft that was not released, and its unsupported claims."""
    if verdict.draft and verdict.draft.text and not verdict.released:
        yield Text("Draft (not released)", style="bold")
        yield Padding(plain(verdict.draft.text), (0, 0, 1, 2))
    against = [item for item in claim_statuses(verdict) if item.support is not Support.BACKED]
    if against:
        yield Text("Unsupported claims", style="bold")
        yield Padding(Group(*(_claim(item) for item in against)), (0, 0, 1, 2))


def _claim(status: ClaimStatus) -> RenderableType:
    red = status.support is Support.CONTRADICTED
    text = Text.assemble((status.support.value.lower(), "red" if red else "yellow"))
    return text.append_text(plain(f": “{status.claim.text}” ({status.reason})"))


def _passages(evidence: Evidence) -> RenderableType:
    parts: list[RenderableType] = [Text("Evidence", style="bold")]
    for n, item in enumerate(evidence, 1):
        parts.append(Padding(origin(f"{n}.", item.passage), (0, 0, 0, 2)))
        parts.append(Padding(plain(item.passage.text.strip()), (0, 0, 1, 6)))
    return Group(*parts) if evidence.items else Text("No evidence.", style="dim")


def _history(value: Case) -> Iterator[RenderableType]:
    """What happened with the case, in chronological order."""
    if value.history:
        yield Text("\nHistory", style="bold")
    for one in value.history:
        by, detail = f" by {one.by}" if one.by else "", f": {one.detail}" if one.detail else ""
        yield plain(f"  {one.time[:16].replace('T', ' ')}  {one.what}{by}{detail}")
        if one.result:
            yield Text(f"                    see record {one.result}", style="dim")


def show_decided(value: Case) -> None:
    last = value.decided[-1]
    console = Console()
    console.print(plain(last.note))
    now = value.outcome
    if now and last.act in (Act.RELEASE, Act.WITHDRAW, Act.CORRECT):
        console.print(Text(f"The verdict is now {now}.", style=_COLOUR.get(now, "red")))
    console.print(Text(f"Record {last.id}", style="dim"))


def show_gaps(found: Sequence[Gap]) -> None:
    console = Console()
    if not found:
        console.print(Text("No gaps: the documents covered every question asked."))
    for item in found:
        times = "once" if item.count == 1 else f"{item.count} times"
        since = f"asked {times}, last {item.last[:10]}"
        head = Text.assemble(plain(item.question or "(not stored)", "bold"), (f"  {since}", "dim"))
        console.print(head, soft_wrap=True)
        if item.missing:
            console.print(Padding(uncovered(item.missing, ""), (0, 0, 0, 2)))
        for source in item.nearest:
            near = "" if source.relevance is None else f", similarity {source.relevance:.2f}"
            name = " > ".join((source.title, *source.heading))
            nearest = f"Nearest: {name} ({source.document}{near})"
            console.print(Padding(plain(nearest, "dim"), (0, 2)))
        console.print(Padding(Text(f"Record {item.records[0]}", style="dim"), (0, 0, 1, 2)))


def show_estimate(found: Estimate) -> None:
    console = Console()
    counted = f"{found.population:,} served, {found.drawn:,} sampled, {found.judged:,} judged"
    if found.rate is None:
        console.print(Text("No estimate yet: too few sampled answers were judged.", style="yellow"))
    else:
        console.print(Text(f"Estimated error rate: {found.rate:.2%} of served answers.", "bold"))
    share = f"{found.confidence:.4g}".removeprefix("0.")
    between = f"Interval {found.low:.2%} to {found.high:.2%} at confidence 0.{share}."
    console.print(Text(f"{between} {counted}, {found.wrong:,} wrong."))
    if found.drawn > found.judged:
        waiting = f"{found.drawn - found.judged:,} sampled answers were not judged, which widens "
        console.print(Text(f"{waiting}the interval.", style="dim"))


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


def _between(since: datetime | None, until: datetime | None) -> RecordFilter:
    moments = (timestamp(m.replace(tzinfo=UTC)) if m else "" for m in (since, until))
    return RecordFilter(since=next(moments), until=next(moments))


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
    options: Options,
    all_: bool,
    why: str | None,
    before: int | None,
    most: int,
    reader: Reader | None,
) -> int:
    """List the review queue, newest first."""
    wanted = CaseFilter(all_, Why(why) if why else None, before)
    cases = Review(options.log()).queue(wanted, most, reader)
    to_json.show([line_json(case) for case in cases]) if options.as_json else show_queue(cases)
    return 0


@review.command()
@click.argument("id")
@_as_reader
@of_store
def show(options: Options, id: str, reader: Reader | None) -> int:
    """Show the decision with this ID or number, its evidence and its review history."""
    case = Review(options.log()).case(id, reader)
    to_json.show(case_json(case)) if options.as_json else show_case(case)
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
    options: Options, id: str, act: str, reason: str, text: str, by: str, reader: Reader | None
) -> int:
    """Decide on the record with this ID or number.

    ACT is release (release a withheld answer, with a caveat), correct (release an answer in your
    words, see --text), withdraw (a released answer was wrong), open (the gate was wrongly closed:
    write and check an answer), confirm (the decision was right) or dismiss (remove from the queue
    without a judgement).
    """
    settings = options.settings
    log = options.log()
    if Act(act) is Act.OPEN:
        return _open(log, settings, id, reason, by, reader, options.as_json)
    done = Review(log).decide(id, Act(act), reason=reason, by=by, text=text, reader=reader)
    case = Review(log).case(id, reader)
    to_json.show({"decision": done, **line_json(case)}) if options.as_json else show_decided(case)
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
    allowed = Filter(collection=collection, labels=labels)
    write, filing = _writer(log, settings, allowed, case.entry)
    verdict, record = reviews.open(id, write, reason=reason, by=by, filing=filing, reader=reader)
    if as_json:
        answer = msgspec.structs.replace(schema.Answer.of(verdict), record=record)
        to_json.show(answer)
    else:
        show_verdict(verdict)
        click.echo(f"Record {record}")
    return 0


def _writer(log: Log, settings: Settings, allowed: Filter, entry: Entry) -> tuple[Writes, Filing]:
    from suffice.engine import Caller, Engine  # the other commands need no models
    from suffice.evidence.library import Library
    from suffice.gate.gate import GateResult
    from suffice.models.catalog import open_embedder

    own = settings.collection(allowed.collection)
    settings = replace(settings, draft=own.draft)
    library = Library(Store(log.database), open_embedder(settings.embedder), settings)
    engine = Engine(settings, library, log)
    assembly, caller = engine.assemble(own), Caller(allowed, entry.caller, entry.tag)
    pipeline = assembly.pipeline(caller)

    def write(decision: Decision, note: str) -> tuple[Verdict, Trace]:
        return pipeline.override(GateResult(decision.evidence, decision.gate), decision.trace, note)

    return write, assembly.filing(caller)


@review.command()
@_times
@_MOST
@_as_reader
@of_store
def gaps(
    options: Options,
    since: datetime | None,
    until: datetime | None,
    most: int,
    reader: Reader | None,
) -> int:
    """List questions that the documents cannot answer, most frequent first."""
    reviews = Review(options.log())
    found = reviews.gaps(_between(since, until), most, reader)
    to_json.show([gap_json(item) for item in found]) if options.as_json else show_gaps(found)
    return 0


@review.command()
@_times
@click.option("--out", type=click.Path(path_type=Path), help="Output file (default: stdout).")
@of_store
def export(
    options: Options, since: datetime | None, until: datetime | None, out: Path | None
) -> int:
    """Export the sampled answers, with their judgements and sampling probabilities, as JSON lines
    for `suffice calibrate`."""
    rows = Review(options.log()).labels(_between(since, until))
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
    options: Options, since: datetime | None, until: datetime | None, confidence: float
) -> int:
    """Estimate the error rate of served answers from the judged sample."""
    reviews = Review(options.log())
    found = reviews.errors(_between(since, until), confidence)
    to_json.show(estimate_json(found)) if options.as_json else show_estimate(found)
    return 0


@click.command()
@click.argument("id")
@click.argument("rating", type=click.Choice([item.value for item in Rating]), metavar="up|down")
@click.option("--comment", default="", help="Comment in free text.")
@click.option("--by", default=user, help="Author of the rating (default: your user name).")
@of_store
def feedback(options: Options, id: str, rating: str, comment: str, by: str) -> int:
    """Rate the answer with this record ID or number."""
    log = options.log()
    kept = Review(log).feedback(id, Rating(rating), comment, by)
    to_json.show({"record": kept}) if options.as_json else click.echo(f"Record {kept}")
    return 0
