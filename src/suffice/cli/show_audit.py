"""Records, verification results and replays as terminal output and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.cli.show import plain
from suffice.log.breaks import Verified
from suffice.log.entry import Entry
from suffice.record.replay import Replayed


def line(value: Entry) -> dict[str, Any]:
    """A record without its fields."""
    return {
        "sequence": value.sequence,
        "id": value.id,
        "time": value.time,
        "clock": value.clock or None,
        "kind": value.kind,
        "caller": value.caller or None,
        "tag": value.tag or None,
        "link": value.link,
    }


def entry(value: Entry, *, proof: bool = False) -> dict[str, Any]:
    found = {
        **line(value),
        "not_stored": list(value.not_stored),
        "erased": list(value.erased),
        "fields": value.fields(),
    }
    if not proof:
        return found
    shown = ("root", "seal", "manifest", "payload")
    return {**found, **{name: getattr(value, name) for name in shown}}


def verified(value: Verified) -> dict[str, Any]:
    return {
        "whole": value.whole,
        "log": value.log,
        "records": value.records,
        "last": {"sequence": value.last, "link": value.link},
        "erased": value.erased,
        "checkpoints": value.checkpoints,
        "faults": [
            {
                "what": fault.what,
                "sequence": fault.sequence,
                "id": fault.id or None,
                "said": fault.message,
            }
            for fault in value.faults
        ],
        "count": value.count,
        "steps_back": value.steps_back,
        "seconds": round(value.seconds, 3),
    }


def replayed(value: Replayed) -> dict[str, Any]:
    return {
        "record": value.id,
        "same": value.same,
        "differences": [
            {"field": item.field, "was": item.was, "now": item.now} for item in value.differences
        ],
        "notes": list(value.notes),
    }


def show_verified(found: Verified) -> None:
    console = Console()
    rate = found.records / found.seconds if found.seconds else 0
    counted = f"{found.records:,} records in {found.seconds:.1f} s ({rate:,.0f} a second)"
    if found.whole:
        console.print(Text.assemble(("Intact. ", "bold green"), counted))
    else:
        console.print(Text.assemble((f"{found.count} faults. ", "bold red"), counted))
    for fault in found.faults:
        name = f"  {fault.id}" if fault.id else ""
        row = Text.assemble((f"{fault.sequence:>8}  ", "bold"), plain(f"{fault.message}{name}"))
        console.print(row, soft_wrap=True)
    if found.steps_back:
        where = f"first before record {found.first_step_back:,}"
        note = f"The time goes back at {found.steps_back:,} places, {where}: a clock was wrong."
        console.print(Text(note, style="yellow"))
    if found.erased:
        console.print(Text(f"Content was erased from {found.erased:,} records.", style="dim"))
    if not found.checkpoints:
        note = "No checkpoints were given, so a completely rebuilt log would go undetected."
        console.print(Text(note, style="dim"))


def show_page(entries: Sequence[Entry]) -> None:
    """Print a line per record. A narrow terminal omits some columns; `--json` has all."""
    console = Console()
    wide = console.width >= 110
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("number", justify="right", no_wrap=True)
    table.add_column("id", no_wrap=True, overflow="ellipsis", width=26)
    for name in ("time", "kind", *(("caller",) if wide else ())):
        table.add_column(name, no_wrap=True)
    room = max(8, console.width - (100 if wide else 66))
    table.add_column("about", no_wrap=True, overflow="ellipsis", max_width=room)
    for item in entries:
        fields = item.fields()
        named = f"{fields.get('act', '')} {fields.get('name', '')}".strip()  # records of keys
        about = str(fields.get("question") or fields.get("why") or named)
        who = [plain(item.caller)] if wide else []
        time = item.time[:19] if wide else item.time[5:16]
        table.add_row(str(item.sequence), item.id, time, item.kind, *who, plain(about))
    console.print(table)


def show_entry(value: Entry) -> None:
    console = Console()
    for name, content in line(value).items():
        if content is not None:
            row = Text.assemble((f"{name:>9}  ", "bold"), plain(str(content)))
            console.print(row, soft_wrap=True)
    for name, names in (("not stored", value.not_stored), ("erased", value.erased)):
        if names:
            console.print(Text.assemble((f"{name:>9}  ", "bold"), ", ".join(names)))
    for name, content in value.fields().items():
        console.print(Text(f"\n{name}", style="bold cyan"))
        rendered = json.dumps(content, ensure_ascii=False, indent=2)
        console.print(plain(rendered.encode("utf-8", "replace").decode()), soft_wrap=True)


def show_replayed(done: Replayed) -> None:
    console = Console()
    if done.same:
        console.print(Text("Same decision.", style="bold green"))
    for item in done.differences:
        was, now = (json.dumps(value, ensure_ascii=False) for value in (item.was, item.now))
        console.print(
            Text.assemble((f"{item.field}: ", "bold"), plain(was), (" → ", "dim"), plain(now)),
            soft_wrap=True,
        )
    for note in done.notes:
        console.print(Text(note, style="dim"))
