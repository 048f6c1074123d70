"""Options of commands that work on the log or keys of a store, and helpers that open them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from suffice.record.log import Log
from suffice.settings import Settings
from suffice.sql.database import Database

F = TypeVar("F", bound=Callable[..., Any])


def of_store(command: F) -> F:
    """Add `--config`, `--store` and `--json`."""
    options = [
        click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml)."),
        click.option(
            "--store",
            metavar="FILE_OR_URL",
            help="Store file or PostgreSQL URL (default: suffice.db).",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def open_database(settings: Settings, store: str | None, *, create: bool = False) -> Database:
    """Open the store's database; it is closed when the command ends."""
    database = Database.open(
        store or settings.store, create=create, wait=settings.store_wait_seconds
    )
    click.get_current_context().call_on_close(database.close)
    return database


def open_log(settings: Settings, store: str | None) -> Log:
    """Open the store's log; it is closed before the database."""
    log = Log(open_database(settings, store), settings.record)
    click.get_current_context().call_on_close(log.close)
    return log
