"""The review queue in the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from suffice.access.visibility import Seen
from suffice.cli import as_json
from suffice.cli.show import origin, plain, show_gate
from suffice.cli.show_verdict import show_verdict
from suffice.review.case import Act, Case
from suffice.review.estimate import Estimate
from suffice.review.gaps import Gap
from suffice.types import Evidence, Support, Verdict
from suffice.verdict.claim_status import ClaimStatus, claim_statuses
from suffice.verdict.wording import NOT_COVERED

_COLOUR = {"SERVE": "green", "CAVEAT": "green", "CONFLICT": "yellow", "SUFFICIENT": "green"}
_FRAME = 33
"""Characters of the queue's line that number, time and the space between columns take."""


def line(value: Case) -> dict[str, Any]:
    """A case in short."""
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
    found |= {"hidden": seen.hidden, "gate": as_json.gate(seen.gate)}
    found |= {"passages": as_json.evidence(seen.evidence)["passages"], "verdict": None}
    if seen.verdict is None:
        return found
    draft, numbers = seen.verdict.draft, {p.id: n for n, p in enumerate(seen.evidence.passages, 1)}
    told = [
        {"claim": one.claim.text, **as_json.finding(one, numbers)} for one in seen.verdict.findings
    ]
    verdict = {"draft": draft.text if draft else None, "findings": told}
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
    """What holds now, in a word."""
    if value.seen is None:
        return ""
    verdict = value.seen.verdict
    return verdict.action.value if verdict else value.seen.gate.level.value


def _question(value: Case) -> str:
    return str(value.entry.fields().get("question", ""))


def show_queue(cases: Sequence[Case]) -> None:
    """One line a case; what a narrow terminal has no room for is left to `--json`."""
    console = Console()
    if not cases:
        console.print(Text("Nothing waits for a person.", style="green"))
        return
    rows = [(one, outcome(one), _state(one)) for one in cases]
    taken = max(len(said) for _, said, _ in rows) + max(len(why) for _, _, why in rows)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("number", justify="right", no_wrap=True)
    for name in ("time", "outcome", "why"):
        table.add_column(name, no_wrap=True)
    room = max(20, console.width - taken - _FRAME)
    table.add_column("question", no_wrap=True, overflow="ellipsis", max_width=room)
    for one, said, why in rows:
        table.add_row(
            str(one.entry.sequence),
            one.entry.time[5:16].replace("T", " "),
            Text(said, style=_COLOUR.get(said, "red")),
            Text(why, style="" if one.open else "dim"),
            plain(_question(one)),
        )
    console.print(table)
    console.print(
        Text("suffice review show NUMBER · suffice review decide NUMBER ACT", style="dim")
    )


def _state(one: Case) -> str:
    """Why it waits, or what was decided."""
    return ", ".join(one.why) if one.open else one.decided[-1].act.value


def show_case(value: Case) -> None:
    console = Console()
    console.print(plain(_question(value) or "(the question is not stored)", "bold"))
    console.print(plain(" · ".join(_facts(value)), "dim"))
    if value.queued:
        chance = (
            f" (probability {value.probability:g})" if value.probability not in (1, None) else ""
        )
        waits = "Waits" if value.open else "Waited"
        console.print(plain(f"{waits}: {', '.join(value.why)}{chance}", "dim"))
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


def _show_seen(seen: Seen, console: Console) -> None:
    if seen.verdict is None:
        show_gate(seen.gate, seen.evidence, console)
    else:
        show_verdict(seen.verdict, console)
        for part in _written(seen.verdict):
            console.print(part)
    console.print(_passages(seen.evidence))
    if seen.hidden:
        said = f"{seen.hidden} passages are not shown: they carry labels you do not hold."
        console.print(Text(said, style="yellow"))


def _written(verdict: Verdict) -> Iterator[RenderableType]:
    """What was drafted and is not out, and the claims that nothing backs."""
    if verdict.draft and verdict.draft.text and not verdict.released:
        yield Text("What was written, and is not out", style="bold")
        yield Padding(plain(verdict.draft.text), (0, 0, 1, 2))
    against = [one for one in claim_statuses(verdict) if one.support is not Support.BACKED]
    if against:
        yield Text("What is not backed", style="bold")
        yield Padding(Group(*(_standing(one) for one in against)), (0, 0, 1, 2))


def _standing(one: ClaimStatus) -> RenderableType:
    red = one.support is Support.CONTRADICTED
    said = Text.assemble((one.support.value.lower(), "red" if red else "yellow"))
    return said.append_text(plain(f": “{one.claim.text}” ({one.reason})"))


def _passages(evidence: Evidence) -> RenderableType:
    parts: list[RenderableType] = [Text("Evidence", style="bold")]
    for n, item in enumerate(evidence, 1):
        parts.append(Padding(origin(f"{n}.", item.passage), (0, 0, 0, 2)))
        parts.append(Padding(plain(item.passage.text.strip()), (0, 0, 1, 6)))
    return Group(*parts) if evidence.items else Text("No evidence.", style="dim")


def _history(value: Case) -> Iterator[RenderableType]:
    """What people said and did, in its order."""
    told = [(one.time, one.note, one.result) for one in value.decided]
    for said in value.feedback:
        rating = {"up": "Rated up", "down": "Rated down"}.get(said.rating or "", "Rated")
        comment = f": {said.comment}" if said.comment else ""
        told.append((said.time, f"{rating} by {said.by or 'somebody'}{comment}", ""))
    if told:
        yield Text("\nSince then", style="bold")
    for time, note, result in sorted(told):
        yield plain(f"  {time[:16].replace('T', ' ')}  {note}")
        if result:
            yield Text(f"                    see record {result}", style="dim")


def show_decided(value: Case) -> None:
    last = value.decided[-1]
    console = Console()
    console.print(plain(last.note))
    now = outcome(value)
    if now and last.act in (Act.RELEASE, Act.WITHDRAW):
        console.print(Text(f"It is {now} now.", style=_COLOUR.get(now, "red")))
    console.print(Text(f"Record {last.id}", style="dim"))


def show_gaps(found: Sequence[Gap]) -> None:
    console = Console()
    if not found:
        console.print(Text("Nothing was asked that the documents could not answer."))
    for one in found:
        times = "once" if one.count == 1 else f"{one.count} times"
        since = f"asked {times}, last {one.last[:10]}"
        head = Text.assemble(plain(one.question or "(not stored)", "bold"), (f"  {since}", "dim"))
        console.print(head, soft_wrap=True)
        if one.missing:
            console.print(Padding(plain(f"{NOT_COVERED}: {'; '.join(one.missing)}"), (0, 0, 0, 2)))
        for source in one.nearest:
            near = "" if source.relevance is None else f", similarity {source.relevance:.2f}"
            name = " > ".join((source.title, *source.heading))
            console.print(Padding(plain(f"Near: {name} ({source.document}{near})", "dim"), (0, 2)))
        console.print(Padding(Text(f"Record {one.records[0]}", style="dim"), (0, 0, 1, 2)))


def show_estimate(found: Estimate) -> None:
    console = Console()
    counted = f"{found.population:,} served, {found.drawn:,} chosen, {found.judged:,} judged"
    if found.rate is None:
        console.print(Text("Nothing is known yet of how often answers are wrong.", style="yellow"))
    else:
        console.print(Text(f"{found.rate:.2%} of the served answers are wrong.", style="bold"))
    share = f"{found.confidence:.4g}".removeprefix("0.")
    between = f"Between {found.low:.2%} and {found.high:.2%}, with confidence 0.{share}."
    console.print(Text(f"{between} {counted}, {found.wrong:,} wrong."))
    if found.drawn > found.judged:
        waiting = f"{found.drawn - found.judged:,} chosen ones were not judged: they widen this."
        console.print(Text(waiting, style="dim"))
