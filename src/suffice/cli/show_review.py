"""The review queue, cases, gaps and error estimates as terminal output and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from suffice.cli import as_json
from suffice.cli.show import origin, plain, show_gate, uncovered
from suffice.cli.show_verdict import show_verdict
from suffice.record.decision import Decision
from suffice.review.case import Act, Case
from suffice.review.estimate import Estimate
from suffice.review.gaps import Gap
from suffice.types import Evidence, Support, Verdict
from suffice.verdict.claim_status import ClaimStatus, claim_statuses

_COLOUR = {"SERVE": "green", "CAVEAT": "green", "CONFLICT": "yellow", "SUFFICIENT": "green"}
_FRAME = 33
"""Width of the number, the time and the column spacing in a queue line, in characters."""


def line(value: Case) -> dict[str, Any]:
    """A case without its evidence and verdict."""
    return {
        "id": value.entry.id,
        "sequence": value.entry.sequence,
        "time": value.entry.time,
        "kind": value.entry.kind,
        "caller": value.entry.caller or None,
        "question": _question(value),
        "outcome": outcome(value) or None,
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


def case(value: Case) -> dict[str, Any]:
    found: dict[str, Any] = {**line(value), "lacking": value.lacking or None}
    if value.seen is None:
        return found
    seen = value.seen
    found |= {"gate": as_json.gate(seen.gate)}
    found |= {"passages": as_json.evidence(seen.evidence)["passages"], "verdict": None}
    if seen.verdict is None:
        return found
    draft, numbers = seen.verdict.draft, {p.id: n for n, p in enumerate(seen.evidence.passages, 1)}
    findings = [
        {"claim": item.claim.text, **as_json.finding(item, numbers)}
        for item in seen.verdict.findings
    ]
    verdict = {"draft": draft.text if draft else None, "findings": findings}
    return {**found, "verdict": {**as_json.verdict(seen.verdict), **verdict}}


def gap(value: Gap) -> dict[str, Any]:
    return {
        "question": value.question,
        "count": value.count,
        "first": value.first,
        "last": value.last,
        "missing": list(value.missing),
        "nearest": [as_json.source(one) for one in value.nearest],
        "records": list(value.records),
    }


def estimate(value: Estimate) -> dict[str, Any]:
    names = ("rate", "low", "high", "confidence", "population", "drawn", "judged", "wrong")
    return {name: getattr(value, name) for name in names}


def outcome(value: Case) -> str:
    """The current verdict, or the gate level if there is no verdict."""
    if value.seen is None:
        return ""
    verdict = value.seen.verdict
    return verdict.action.value if verdict else value.seen.gate.level.value


def _question(value: Case) -> str:
    return str(value.entry.fields().get("question", ""))


def show_queue(cases: Sequence[Case]) -> None:
    """Print a line per case. A narrow terminal truncates lines; `--json` has the full text."""
    console = Console()
    if not cases:
        console.print(Text("The review queue is empty.", style="green"))
        return
    rows = [(item, outcome(item), _state(item)) for item in cases]
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
            plain(_question(item)),
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
    console.print(plain(_question(value) or "(the question is not stored)", "bold"))
    console.print(plain(" · ".join(_facts(value)), "dim"))
    if value.queued:
        chance = (
            f" (probability {value.probability:g})" if value.probability not in (1, None) else ""
        )
        state = "Awaiting review" if value.open else "Reviewed"
        console.print(plain(f"{state}: {', '.join(value.why)}{chance}", "dim"))
    console.print()
    if value.seen is None:
        console.print(Text(value.lacking, style="yellow"))
    else:
        _show_seen(value.seen, console)
    for part in _history(value):
        console.print(part)


def _facts(value: Case) -> Iterator[str]:
    yield f"Record {value.entry.id}"
    yield value.entry.time[:19].replace("T", " ")
    if value.entry.caller:
        yield f"asked by {value.entry.caller}"


def _show_seen(seen: Decision, console: Console) -> None:
    if seen.verdict is None:
        show_gate(seen.gate, seen.evidence, console)
    else:
        show_verdict(seen.verdict, console)
        for part in _written(seen.verdict):
            console.print(part)
    console.print(_passages(seen.evidence))


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
    now = outcome(value)
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
