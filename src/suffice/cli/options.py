"""Options shared by several commands, and the store and library they open."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from suffice.errors import CollectionMissing, StoreMissing
from suffice.evidence.library import Library
from suffice.evidence.sources import check_source, is_url
from suffice.evidence.store import Store, cache_folder
from suffice.log.log import Log
from suffice.settings import Settings
from suffice.sql.database import Database

F = TypeVar("F", bound=Callable[..., Any])

CONFIG = click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
STORE = (
    CONFIG,
    click.option(
        "--store", metavar="FILE_OR_URL", help="Store file or PostgreSQL URL (default: suffice.db)."
    ),
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
QUIET = click.option("--quiet", is_flag=True, help="No progress.")


def with_options(command: F, *options: Callable[[F], F]) -> F:
    """Add options to a command, in the order in which its help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


_INSTEAD = {
    "docs": "To index documents for this command, pass --docs FOLDER.",
    "store": "If the store is elsewhere, pass --store FILE_OR_URL.",
}


@contextmanager
def naming_options() -> Iterator[None]:
    """Complete the remedy for a missing store with the options that the running command has."""
    try:
        yield
    except StoreMissing as problem:
        has = {one.name for one in click.get_current_context().command.params}
        told = [problem.remedy, *(text for name, text in _INSTEAD.items() if name in has)]
        remedy = " ".join(f"{one.rstrip('.')}." for one in told)
        raise StoreMissing(problem.message, remedy=remedy) from None


DEFAULT = "default"


def common(command: F) -> F:
    """Add `--config`, `--store`, `--collection`, `--json` and `--quiet`."""
    collection = click.option(
        "--collection", default=DEFAULT, show_default=True, help="Collection name."
    )
    return with_options(command, *STORE, collection, JSON, QUIET)


def open_library(
    settings: Settings, store: str | None, docs: str | None = None, *, create: bool = False
) -> Library:
    """Open the given store, else with `--docs` a cached store, else the configured store."""
    if docs is not None and docs != "-":
        check_source(docs)
    if store is None and docs is not None:
        return Library.open(cached_store(docs), settings, create=True)
    with naming_options():
        return Library.open(store or settings.store, settings, create=create or docs is not None)


def check_collection(store: Store, name: str) -> None:
    """Reject an unknown collection name: it is more likely a typo than an empty collection."""
    known = store.collections()
    if name == DEFAULT or name in known:
        return
    listed = f"Existing collections: {', '.join(known)}. " if known else ""
    raise CollectionMissing(
        f"The store has no collection '{name}'.",
        remedy=f"{listed}To create it, run: suffice index SOURCE --collection {name}",
    )


def piped(settings: Settings) -> bytes:
    """Read standard input up to one byte over the size limit, so that excess can be detected."""
    return sys.stdin.buffer.read(settings.read.max_bytes + 1)


def cached_store(docs: str | Path) -> Path:
    """The store for `--docs` in the cache folder, one for each document folder."""
    place = docs if is_url(docs) else Path(docs).resolve()
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    return cache_folder() / digest / "suffice.db"


def of_store(command: F) -> F:
    """Add `--config`, `--store` and `--json`."""
    return with_options(command, *STORE, JSON)


def open_database(settings: Settings, store: str | None, *, create: bool = False) -> Database:
    """Open the store's database; it is closed when the command ends."""
    with naming_options():
        database = Database.open(
            store or settings.store, create=create, wait=settings.store_wait_seconds
        )
    click.get_current_context().call_on_close(database.close)
    return database


def open_log(settings: Settings, store: str | None) -> Log:
    """Open the store's log. It is closed when the command ends, before the database."""
    log = Log(open_database(settings, store), settings.record)
    click.get_current_context().call_on_close(log.close)
    return log
