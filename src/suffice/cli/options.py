"""The options that most commands share, and the settings, store, log and library they open."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from suffice.cli.progress import bars
from suffice.errors import CollectionMissing, StoreMissing
from suffice.evidence.sources import check_source, is_url
from suffice.settings import Settings, read_settings

if TYPE_CHECKING:  # commands that open no store work without its packages
    from suffice.evidence.ingest import Progress
    from suffice.evidence.library import Library
    from suffice.evidence.store import Store
    from suffice.log.log import Log
    from suffice.sql.database import Database

F = TypeVar("F", bound=Callable[..., Any])
Command = Callable[..., int]
DEFAULT = "default"


@dataclass(frozen=True)
class Options:
    """The options that most commands share; a command sets those that it has."""

    config: str | None = None
    store: str | None = None
    collection: str = DEFAULT
    as_json: bool = False
    quiet: bool = False

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.config)

    def progress(self) -> AbstractContextManager[Progress]:
        return bars(quiet=self.quiet)

    def database(self, *, create: bool = False) -> Database:
        """The store's database; it is closed when the command ends."""
        from suffice.sql.database import Database

        with naming_options():
            database = Database.open(
                self.store or self.settings.store,
                create=create,
                wait=self.settings.store_wait_seconds,
            )
        click.get_current_context().call_on_close(database.close)
        return database

    def log(self) -> Log:
        """The store's log. It is closed when the command ends, before the database."""
        from suffice.log.log import Log

        log = Log(self.database(), self.settings.record)
        click.get_current_context().call_on_close(log.close)
        return log

    def library(self, docs: str | None = None, *, create: bool = False) -> Library:
        return open_library(self.settings, self.store, docs, create=create)


STORE = click.option(
    "--store", metavar="FILE_OR_URL", help="Store file or PostgreSQL URL (default: suffice.db)."
)
_SHARED = {
    "config": click.option(
        "--config", type=click.Path(), help="Settings file (default: suffice.yaml)."
    ),
    "store": STORE,
    "collection": click.option(
        "--collection", default=DEFAULT, show_default=True, help="Collection name."
    ),
    "as_json": click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    "quiet": click.option("--quiet", is_flag=True, help="No progress."),
}


def shared(*names: str) -> Callable[[Command], Command]:
    """Add these options to a command, in the order in which its help shows them. It receives them
    as one argument, `options`. A command with other options in between is decorated twice."""

    def decorate(command: Command) -> Command:
        @wraps(command)
        def called(**values: Any) -> int:
            given = {name: values.pop(name) for name in names}
            return command(options=replace(values.pop("options", Options()), **given), **values)

        return with_options(called, *(_SHARED[name] for name in names))

    return decorate


of_store = shared("config", "store", "as_json")
common = shared("config", "store", "collection", "as_json", "quiet")


def with_options(command: Command, *options: Callable[[Any], Any]) -> Command:
    """Add options to a command, in the order in which its help shows them."""
    for option in reversed(options):
        command = option(command)
    return command


def tier_option(about: str) -> Callable[[F], F]:
    """Add `--tier`, which chooses the verifier."""
    tiers = click.Choice(["fast", "strong", "llm"])
    return click.option("--tier", type=tiers, help=f"{about} (default: from the settings).")


TIER = tier_option("Verifier: fast, strong, or llm for your own LLM")
LLM = click.option("--llm", help="Drafter: extractive, or the base URL of an LLM endpoint.")
MODEL = click.option("--model", help="Model name at that endpoint.")
POLICY = click.option(
    "--policy", help="Gate policy: tiers, coverage, bound, checkpoint, reranked or learned."
)

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
        offered = {param.name for param in click.get_current_context().command.params}
        hints = [text for name, text in _INSTEAD.items() if name in offered]
        remedy = " ".join(f"{hint.rstrip('.')}." for hint in [problem.remedy, *hints])
        raise StoreMissing(problem.message, remedy=remedy) from None


def open_library(
    settings: Settings, store: str | None, docs: str | None = None, *, create: bool = False
) -> Library:
    """Open the given store, else with `--docs` a cached store, else the configured store."""
    from suffice.evidence.library import Library

    if docs is not None and docs != "-":
        check_source(docs)
    if store is None and docs is not None:
        return Library.open(cached_store(docs), settings, create=True)
    with naming_options():
        return Library.open(store or settings.store, settings, create=create or docs is not None)


def check_collection(store: Store, name: str) -> None:
    """Reject an unknown collection name: it is more likely a typo than an empty collection."""
    existing = store.collections()
    if name == DEFAULT or name in existing:
        return
    listed = f"Existing collections: {', '.join(existing)}. " if existing else ""
    raise CollectionMissing(
        f"The store has no collection '{name}'.",
        remedy=f"{listed}To create it, run: suffice index SOURCE --collection {name}",
    )


def piped(settings: Settings) -> bytes:
    """Read standard input up to one byte over the size limit, so that excess can be detected."""
    return sys.stdin.buffer.read(settings.read.max_bytes + 1)


def cached_store(docs: str | Path) -> Path:
    """The store for `--docs` in the cache folder, one for each document folder."""
    source = docs if is_url(docs) else Path(docs).resolve()
    digest = hashlib.sha256(os.fsencode(source)).hexdigest()[:16]
    from suffice.evidence.store import cache_folder

    return cache_folder() / digest / "suffice.db"
