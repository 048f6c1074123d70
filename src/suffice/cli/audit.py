"""`suffice audit`: the log of all decisions: is it whole, what does it say, what may be erased."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from suffice.cli import as_json as to_json
from suffice.cli import show_audit as shown
from suffice.cli.of_store import of_store, open_log
from suffice.cli.progress import bars
from suffice.errors import SettingsError, SufficeError
from suffice.evidence.documents import StoredDocuments
from suffice.evidence.index import Filter
from suffice.evidence.store import Store
from suffice.log.checkpoints.destinations import place
from suffice.log.checkpoints.signing_keys import make_key, read_public
from suffice.log.entry import Choice, Entry
from suffice.log.moment import now, written
from suffice.log.prepare import FIELDS
from suffice.record.decision import decision_of
from suffice.record.log import PAGE, Log
from suffice.settings import read_settings

_MOMENT = click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"])


@click.group()
def audit() -> None:
    """Look into the log of all decisions, verify it, and erase from it."""


@audit.command()
@click.option(
    "--checkpoints", multiple=True, metavar="PLACE", help="A file, URL or store that holds some."
)
@click.option("--key", help="The public key that has to have signed them, or its .pub file.")
@click.option("--deep", is_flag=True, help="Compute every field's commitment anew as well.")
@click.option("--quiet", is_flag=True, help="No progress bars.")
@of_store
def verify(
    checkpoints: tuple[str, ...],
    key: str | None,
    deep: bool,
    quiet: bool,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Is the log what was written? Every link and payload, and what checkpoints say.

    Exit code 0: it is. 2: it is not, and it is told where. 1: an error.
    """
    log = open_log(read_settings(config), store)
    points = [point for where in checkpoints for point in place(where).kept()]
    with bars(quiet=quiet or as_json) as progress:
        found = log.verify(
            points,
            key=read_public(key) if key else "",
            deep=deep,
            progress=lambda done, total: progress("verifying", done, max(done, total)),
        )
    if as_json:
        to_json.show(shown.verified(found))
    else:
        shown.show_verified(found)
    return 0 if found.whole else 2


@audit.command()
@click.argument("id", required=False)
@click.option("--kind", default="", help="Only records of this kind.")
@click.option("--caller", default="", help="Only records of this caller.")
@click.option("--before", type=int, metavar="NUMBER", help="The page before this record.")
@click.option("--most", type=click.IntRange(1, 10_000), default=PAGE, show_default=True)
@of_store
def show(
    id: str | None,
    kind: str,
    caller: str,
    before: int | None,
    most: int,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """The record ID (or its number) with all it says; without one, the newest records."""
    log = open_log(read_settings(config), store)
    if id is not None:
        entry = log.entry(id)
        to_json.show(shown.entry(entry)) if as_json else shown.show_entry(entry)
        return 0
    entries = log.page(Choice(kind=kind, caller=caller, before=before), most)
    if as_json:
        to_json.show([shown.line(entry) for entry in entries])
    else:
        shown.show_page(entries)
    return 0


@audit.command()
@click.option("--record", "id", help="One record, by its id or number.")
@click.option("--since", type=_MOMENT, metavar="TIME", help="Sealed at that time (UTC) or later.")
@click.option("--until", type=_MOMENT, metavar="TIME", help="Sealed before that time (UTC).")
@click.option("--kind", default="", help="Only records of this kind.")
@click.option("--proof", is_flag=True, help="With salts and hashes, for others to verify.")
@click.option("--out", type=click.Path(path_type=Path), help="A file (default: standard output).")
@of_store
def export(
    id: str | None,
    since: datetime | None,
    until: datetime | None,
    kind: str,
    proof: bool,
    out: Path | None,
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """The records as JSON lines, oldest first."""
    log = open_log(read_settings(config), store)
    choice = Choice(kind, since=_written(since), until=_written(until))
    entries = [log.entry(id)] if id else log.entries(choice)
    try:
        with out.open("w", encoding="utf-8") if out else nullcontext(sys.stdout) as file:
            for entry in entries:
                file.write(json.dumps(shown.entry(entry, proof=proof)) + "\n")
    except OSError as problem:
        if out is None:
            raise
        raise SufficeError(
            f"{out} cannot be written: {problem.strerror}.", remedy="Name another file."
        ) from problem
    return 0


def _written(moment: datetime | None) -> str:
    return written(moment.replace(tzinfo=UTC)) if moment else ""


@audit.command()
@click.argument("id")
@of_store
def replay(id: str, config: str | None, store: str | None, as_json: bool) -> int:
    """Decide again: gate and checks on what the record ID holds, with the settings of then.

    Exit code 0: the same. 2: something differs, and it is told what. 1: an error.
    """
    from suffice.record.replay import replay as again

    log = open_log(read_settings(config), store)
    entry = log.entry(id)
    decision_of(entry)  # what cannot be made again is told before models are opened
    done = again(entry, log.entry(entry.fields()["setup"]), _documents(log, entry))
    to_json.show(shown.replayed(done)) if as_json else shown.show_replayed(done)
    return 0 if done.same else 2


def _documents(log: Log, entry: Entry) -> StoredDocuments:
    """What SQL says now of the documents, as far as the record shows that its caller read them."""
    passages = entry.fields()["passages"]
    labels = frozenset(label for passage in passages for label in passage.get("access", ()))
    collection = next((passage.get("collection", "default") for passage in passages), "default")
    return StoredDocuments(Store(log.database), Filter(collection=collection, labels=labels))


@audit.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The key's file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def key(out: Path, as_json: bool) -> int:
    """Make a key that signs checkpoints; the public one is written beside it, to OUT.pub."""
    public = make_key(out)
    if as_json:
        to_json.show({"key": str(out), "public": public})
    else:
        click.echo(f"{out}: keep it secret, and name it in record.checkpoint.key.")
        click.echo(f"{out}.pub: {public}")
    return 0


@audit.command()
@click.option("--key", "file", help="The private key (default: record.checkpoint.key).")
@click.option("--to", multiple=True, metavar="PLACE", help="A file, a URL or another store.")
@of_store
def checkpoint(
    file: str | None, to: tuple[str, ...], config: str | None, store: str | None, as_json: bool
) -> int:
    """Sign where the log stands now, and have it kept elsewhere."""
    settings = read_settings(config)
    own = settings.record.checkpoint
    signing = replace(own, key=file or own.key, to=to or own.to)
    if not signing.key:
        raise SettingsError(
            "There is no key to sign with.",
            remedy="Make one: suffice audit key --out FILE; name it with --key or in the settings.",
        )
    log = open_log(settings, store)
    point = replace(log.signer, settings=signing).write(always=True)
    if point is None:
        raise SufficeError("The log is empty.", remedy="Ask something first.")
    if as_json or not signing.to:
        click.echo(point.text())
    else:
        click.echo(f"Record {point.sequence}, {point.link}: kept in {', '.join(signing.to)}")
    return 0


@audit.command()
@click.argument("subject")
@click.option("--reason", default="", help="Why, for the record.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@of_store
def erase(
    subject: str, reason: str, yes: bool, config: str | None, store: str | None, as_json: bool
) -> int:
    """Erase what records say whose caller or tag is SUBJECT. The chain stays whole."""
    log = open_log(read_settings(config), store)
    if not yes:
        click.confirm(f"Erase all that is recorded of {subject}, for good?", abort=True, err=True)
    _show(log.eraser.subject(subject, reason=reason), as_json)
    return 0


@audit.command()
@click.option("--days", type=click.IntRange(1), help="Older than that (default: record.days).")
@click.option(
    "--field", "fields", multiple=True, type=click.Choice(sorted(FIELDS)), help="Only this field."
)
@click.option("--kind", "kinds", multiple=True, help="Only records of this kind.")
@of_store
def retain(
    days: int | None,
    fields: tuple[str, ...],
    kinds: tuple[str, ...],
    config: str | None,
    store: str | None,
    as_json: bool,
) -> int:
    """Erase what records say that are older than some days. The chain stays whole."""
    settings = read_settings(config)
    limit = days or settings.record.days
    if not limit:
        raise SettingsError(
            "Records are kept for ever: record.days is 0.", remedy="Set it, or name --days."
        )
    log = open_log(settings, store)
    before = now() - timedelta(days=limit)
    _show(log.eraser.before(before, names=fields, kinds=kinds), as_json)
    return 0


def _show(done: Any, as_json: bool) -> None:
    if as_json:
        to_json.show({"records": done.records, "erasures": list(done.ids)})
    else:
        click.echo(f"Erased from {done.records} records.")
