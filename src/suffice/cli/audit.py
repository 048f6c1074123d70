"""`suffice audit`: verify, show, export, replay and erase the records of the decision log."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from suffice.access.quotas import forget_user
from suffice.cli import as_json as to_json
from suffice.cli.options import Options, of_store, shared
from suffice.cli.recording import user
from suffice.cli.show import plain
from suffice.errors import SettingsError, SufficeError
from suffice.log.chain import now, timestamp
from suffice.log.checkpoints import destination, make_key, read_public
from suffice.log.decision import decision_of
from suffice.log.log import PAGE
from suffice.log.record import Entry
from suffice.log.replay import Replayed, record_verification
from suffice.log.stored import RecordFilter
from suffice.log.verify import Verified
from suffice.log.writer import FIELDS


def line_json(value: Entry) -> dict[str, Any]:
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


def entry_json(value: Entry, *, proof: bool = False) -> dict[str, Any]:
    found = {
        **line_json(value),
        "not_stored": list(value.not_stored),
        "erased": list(value.erased),
        "fields": value.fields(),
    }
    if not proof:
        return found
    shown = ("root", "seal", "manifest", "payload")
    return {**found, **{name: getattr(value, name) for name in shown}}


def verified_json(value: Verified) -> dict[str, Any]:
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


def replayed_json(value: Replayed) -> dict[str, Any]:
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
    for name, content in line_json(value).items():
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


_MOMENT = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])


@click.group()
def audit() -> None:
    """Verify, inspect, replay and erase recorded decisions."""


@audit.command()
@click.option(
    "--checkpoints",
    multiple=True,
    metavar="PLACE",
    help="File, URL or store with checkpoints (repeatable).",
)
@click.option("--key", help="Public key, or its .pub file, that must have signed the checkpoints.")
@click.option("--deep", is_flag=True, help="Also recompute the commitment of every field.")
@click.option("--record", is_flag=True, help="Write the result to the log, for the review site.")
@shared("quiet", "config", "store", "as_json")
def verify(
    options: Options, checkpoints: tuple[str, ...], key: str | None, deep: bool, record: bool
) -> int:
    """Verify every link and payload of the log, and compare it with checkpoints.

    Exit code 0: the log is intact. 2: faults were found and are listed. 1: error.
    """
    log = options.log()
    points = [point for address in checkpoints for point in destination(address).load()]
    with options.progress() as progress:
        found = log.verify(
            points,
            key=read_public(key) if key else "",
            deep=deep,
            progress=lambda done, total: progress("verifying", done, max(done, total)),
        )
    if record:
        record_verification(log, found, user())
    to_json.show(verified_json(found)) if options.as_json else show_verified(found)
    return 0 if found.whole else 2


@audit.command()
@click.argument("id", required=False)
@click.option("--kind", default="", help="Only records of this kind.")
@click.option("--caller", default="", help="Only records of this caller.")
@click.option("--before", type=int, metavar="NUMBER", help="Only records before this number.")
@click.option(
    "--most",
    type=click.IntRange(1, 10_000),
    default=PAGE,
    show_default=True,
    help="Maximum number of records.",
)
@of_store
def show(
    options: Options, id: str | None, kind: str, caller: str, before: int | None, most: int
) -> int:
    """Show the record with this ID or number in full; without ID, list the newest records."""
    log = options.log()
    if id is not None:
        entry = log.entry(id)
        to_json.show(entry_json(entry)) if options.as_json else show_entry(entry)
        return 0
    entries = log.page(RecordFilter(kind=kind, caller=caller, before=before), most)
    to_json.show([line_json(entry) for entry in entries]) if options.as_json else show_page(entries)
    return 0


@audit.command()
@click.option("--record", "id", help="Only the record with this id or number.")
@click.option("--since", type=_MOMENT, metavar="TIME", help="Sealed at or after TIME (UTC).")
@click.option("--until", type=_MOMENT, metavar="TIME", help="Sealed before TIME (UTC).")
@click.option("--kind", default="", help="Only records of this kind.")
@click.option(
    "--proof", is_flag=True, help="Include salts and hashes for third-party verification."
)
@click.option("--out", type=click.Path(path_type=Path), help="Output file (default: stdout).")
@of_store
def export(
    options: Options,
    id: str | None,
    since: datetime | None,
    until: datetime | None,
    kind: str,
    proof: bool,
    out: Path | None,
) -> int:
    """Export records as JSON lines, oldest first."""
    log = options.log()
    choice = RecordFilter(kind, since=_written(since), until=_written(until))
    entries = [log.entry(id)] if id else log.entries(choice)
    to_json.write_lines((entry_json(entry, proof=proof) for entry in entries), out)
    return 0


def _written(moment: datetime | None) -> str:
    return timestamp(moment.replace(tzinfo=UTC)) if moment else ""


@audit.command()
@click.argument("id")
@of_store
def replay(options: Options, id: str) -> int:
    """Rerun gate and checks on the recorded inputs of record ID, with the recorded settings.

    Exit code 0: same decision. 2: differences were found and are listed. 1: error.
    """
    from suffice.log.replay import replay as again
    from suffice.log.replay import stored_documents

    log = options.log()
    entry = log.entry(id)
    decision = decision_of(entry)  # fails before models are loaded
    documents = stored_documents(log.database, decision)
    done = again(entry, log.entry(entry.fields()["setup"]), documents)
    to_json.show(replayed_json(done)) if options.as_json else show_replayed(done)
    return 0 if done.same else 2


@audit.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Private key file.")
@shared("as_json")
def key(options: Options, out: Path) -> int:
    """Create a key pair for signing checkpoints: private key in OUT, public key in OUT.pub."""
    public = make_key(out)
    if options.as_json:
        to_json.show({"key": str(out), "public": public})
    else:
        click.echo(
            f"Private key: {out} (keep it secret; set record.checkpoint.key_file to this file)"
        )
        click.echo(f"Public key:  {out}.pub ({public})")
    return 0


@audit.command()
@click.option("--key", "file", help="Private key file (default: record.checkpoint.key_file).")
@click.option(
    "--to", multiple=True, metavar="PLACE", help="Destination: a file, a URL or another store."
)
@of_store
def checkpoint(options: Options, file: str | None, to: tuple[str, ...]) -> int:
    """Write a signed checkpoint of the log's current state."""
    settings = options.settings
    own = settings.record.checkpoint
    signing = replace(own, key_file=file or own.key_file, destinations=to or own.destinations)
    if not signing.key_file:
        raise SettingsError(
            "No signing key is configured.",
            remedy="Run: suffice audit key --out FILE. Then pass --key or set "
            "record.checkpoint.key_file.",
        )
    log = options.log()
    point = replace(log.signer, settings=signing).write(always=True)
    if point is None:
        raise SufficeError(
            "The log is empty.", remedy="Record a decision first, for example with suffice ask."
        )
    if options.as_json or not signing.destinations:
        click.echo(point.text())
    else:
        places = ", ".join(signing.destinations)
        click.echo(f"Checkpoint at record {point.sequence} ({point.link}) written to {places}")
    return 0


@audit.command()
@click.argument("subject")
@click.option("--reason", default="", help="Reason, stored in the erasure record.")
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@of_store
def erase(options: Options, subject: str, reason: str, yes: bool) -> int:
    """Erase the content of all records with the caller or tag SUBJECT, and the name in the usage
    report. The chain stays verifiable."""
    log = options.log()
    if not yes:
        question = f"Permanently erase the content of all records about {subject}?"
        click.confirm(question, abort=True, err=True)
    _show(log.eraser.subject(subject, reason=reason), options.as_json)
    forget_user(options.database(), subject)
    return 0


@audit.command()
@click.option(
    "--days", type=click.IntRange(1), help="Maximum age (default: record.retention_days)."
)
@click.option(
    "--field", "fields", multiple=True, type=click.Choice(sorted(FIELDS)), help="Only this field."
)
@click.option("--kind", "kinds", multiple=True, help="Only records of this kind.")
@of_store
def retain(
    options: Options, days: int | None, fields: tuple[str, ...], kinds: tuple[str, ...]
) -> int:
    """Erase the content of records older than --days. The chain stays verifiable."""
    settings = options.settings
    limit = days or settings.record.retention_days
    if not limit:
        raise SettingsError(
            "No retention period is set: record.retention_days is 0, which keeps records forever.",
            remedy="Set record.retention_days or pass --days.",
        )
    log = options.log()
    before = now() - timedelta(days=limit)
    _show(log.eraser.before(before, names=fields, kinds=kinds), options.as_json)
    return 0


def _show(done: Any, as_json: bool) -> None:
    if as_json:
        to_json.show({"records": done.records, "erasures": list(done.ids)})
    else:
        click.echo(f"Erased the content of {done.records} records.")
