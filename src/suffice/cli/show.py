"""Terminal output of gate decisions, evidence, documents and indexing reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from suffice.evidence.index import today
from suffice.evidence.rows import VersionInfo
from suffice.gate.freshness import left_out
from suffice.gate.policies.tiers import counted
from suffice.text.one_line import one_line, without_controls
from suffice.text.readable import readable
from suffice.types import Conflict, Evidence, GateDecision, Level, Passage, Signal
from suffice.verdict.wording import NOT_COVERED

if TYPE_CHECKING:
    from suffice.evidence.ingest import Report

_STATUS_STYLE = {
    "current": "green",
    "superseded": "yellow",
    "expired": "red",
    "retired": "red",
    "not yet effective": "cyan",
}


def plain(text: str, style: str = "") -> Text:
    """Untrusted text without markup or control characters that could drive the terminal."""
    return Text(without_controls(text, "\N{REPLACEMENT CHARACTER}"), style=style)


def uncovered(missing: Sequence[str], style: str = "bold") -> Text:
    """The parts of the question that the evidence does not cover, as one line."""
    return Text.assemble((f"{NOT_COVERED}: ", style), plain("; ".join(missing)))


def panel(title: str, colour: str, parts: Sequence[RenderableType], figures: str) -> Panel:
    """A decision in a panel, with its figures below."""
    return Panel(
        Group(*parts),
        title=f"[bold {colour}]{title}",
        title_align="left",
        subtitle=f"[dim]{figures}",
        subtitle_align="left",
        border_style=colour,
        padding=(1, 2),
    )


def quote_line(quote: str) -> str:
    """A quote on one line; table rules and bars become spaces."""
    return one_line(re.sub(r":?-{3,}:?|\|", " ", readable(quote)))


def origin(mark: str, passage: Passage) -> RenderableType:
    """The origin of a passage in two lines: title, version and dates, then document and place."""
    facts = [f"version {passage.declared}"] if passage.declared else []
    if passage.effective:
        facts.append(f"in force since {passage.effective}")
    if passage.until and passage.until <= today():
        facts.append("no longer in force")
    elif passage.expires:
        facts.append(f"expires {passage.expires}")
    head = Text.assemble((f"{mark} ", "bold cyan"), plain(passage.title, "bold"))
    head.append_text(plain("".join(f" · {fact}" for fact in facts)))
    where = " · ".join(part for part in (passage.document, passage.place) if part)
    return Group(head, Padding(plain(where, "dim"), (0, 0, 0, 4)))


def show_gate(decision: GateDecision, evidence: Evidence, console: Console | None = None) -> None:
    """Print the decision with its reasons, signals and conflicts."""
    console = console or Console()
    colour = "green" if decision.open else "red" if decision.level is Level.CONFLICT else "yellow"
    parts: list[RenderableType] = [
        Text(f"{reason[:1].upper()}{reason[1:]}.") for reason in decision.reasons
    ]
    if decision.signals:
        parts += [Text(), _signals(decision.signals)]
    for conflict in decision.conflicts:
        parts += [Text(), _conflict(conflict)]
    if decision.missing:
        parts += [Text(), uncovered(decision.missing)]
    if not decision.open and decision.next_steps:
        parts += [Text(), Text("Next steps", style="bold")]
        parts += [Text(f"  {step}") for step in decision.next_steps]
    figures = f"{decision.policy} {decision.score:.2f} · {counted(len(evidence))}"
    console.print(panel(decision.level.value, colour, parts, figures))
    show_notes(console, evidence.notes, decision, " ".join(decision.reasons))


def show_notes(console: Console, notes: Sequence[str], gate: GateDecision, said: str) -> None:
    """Print the notes, and the passages that were left out unless they are named in `said`."""
    for note in notes:
        console.print(plain(note, "dim"))
    told = "\n".join((said, *notes))
    for line in left_out(one for one in gate.excluded if one.reason not in told):
        console.print(plain(f"Left out: {line}.", "dim"))


def _signals(signals: Sequence[Signal]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    for signal in signals:
        value = "unknown" if signal.value is None else f"{signal.value:.3g}"
        limit = "" if signal.threshold is None else f"threshold: {signal.threshold:.3g}"
        table.add_row("", signal.name, value, Text(limit, "dim"), Text(signal.note, "dim"))
    return table


def _conflict(conflict: Conflict) -> RenderableType:
    head = "Ambiguous: different things with the same name" if conflict.ambiguous else "Conflict"
    sides = ((conflict.first, conflict.first_quote), (conflict.second, conflict.second_quote))
    lines: list[RenderableType] = [Text(head, style="bold")]
    for mark, (passage, quote) in zip("ab", sides, strict=True):
        lines.append(origin(f"({mark})", passage))
        lines.append(Padding(plain(f"“{one_line(quote)}”", "italic"), (0, 0, 0, 4)))
    return Group(*lines)


def show_evidence(evidence: Evidence, console: Console | None = None) -> None:
    """Print the passages found, with their raw scores."""
    console = console or Console()
    if not evidence.items:
        console.print(Text("No passages found.", style="yellow"))
    for place, item in enumerate(evidence, 1):
        near = "–" if item.relevance is None else f"{item.relevance:.3f}"
        scores = f"similarity {near} · keywords {item.keywords:.2f} · score {item.score:.3f}"
        scores += f" · {item.passage.kind.value}"
        console.print(origin(f"{place}.", item.passage))
        console.print(Padding(plain(item.passage.text.strip()), (0, 0, 0, 4)))
        console.print(Padding(Text(scores, style="dim"), (0, 0, 1, 4)))
    for note in evidence.notes:
        console.print(plain(note, "dim"))


def show_report(report: Report) -> None:
    """Print what indexing did on one line, then the files it could not read."""
    counts = {
        "added": report.added,
        "changed": report.changed,
        "unchanged": report.unchanged,
        "retired": report.retired,
        "passages embedded": report.embedded,
    }
    summary = ", ".join(f"{count} {name}" for name, count in counts.items() if count)
    Console().print(Text(summary or "Nothing to do."))
    show_failures(report)


def show_failures(report: Report) -> None:
    console = Console(stderr=True)
    for failure in report.failures:
        console.print(Text.assemble(("Skipped: ", "yellow"), plain(failure.reason)), soft_wrap=True)
    by_key: dict[str, list[str]] = {}
    for document, key in report.unread:
        by_key.setdefault(key, []).append(document)
    for key, documents in by_key.items():
        more = f" and {len(documents) - 1} more" if len(documents) > 1 else ""
        note = f"'{key}' in {documents[0]}{more} was ignored; supported date and version keys are"
        note += " effective, expires and version."
        console.print(Text.assemble(("Note: ", "yellow"), plain(note)))


def show_versions(versions: Sequence[VersionInfo], day: date) -> None:
    """Print documents as a table. A narrow terminal omits some columns; `--json` has all."""
    console = Console()
    wide = console.width >= 110
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("document", no_wrap=True, overflow="ellipsis", max_width=28)
    title = max(8, console.width - (102 if wide else 76))
    table.add_column("title", no_wrap=True, overflow="ellipsis", max_width=title)
    for name in ("version", "status", "effective", *(("expires", "passages") if wide else ())):
        table.add_column(name, no_wrap=True)
    for version in versions:
        status = version.status(day)
        row = [
            plain(version.document),
            plain(version.title),
            plain(version.version),
            Text(status, style=_STATUS_STYLE[status]),
            Text(str(version.effective or "")),
        ]
        more = [Text(str(version.expires or "")), Text(str(version.passages))] if wide else []
        table.add_row(*row, *more)
    console.print(table)


def show_text(version: VersionInfo, text: str, day: date) -> None:
    """Print the text of a version under a line that identifies it."""
    console = Console()
    head = f"{version.document} · {version.title} · version {version.version} · "
    console.print(plain(head + version.status(day), "bold"))
    console.print(plain(text), soft_wrap=True)
