"""Options for commands that use a store's log or keys, and functions that open them."""

from __future__ import annotations

import click

from suffice.cli.store_options import JSON, STORE, F, naming_options, with_options
from suffice.record.log import Log
from suffice.settings import Settings
from suffice.sql.database import Database


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
