"""Options and helpers for commands that record their decisions in the store's log."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.text import Text

from suffice.settings import Settings

if TYPE_CHECKING:  # `search` does not need the log
    from suffice.evidence.library import Library
    from suffice.log.record import Record
    from suffice.record.librarian import Librarian
    from suffice.record.setup import Setup
    from suffice.record.sink import Recorder
    from suffice.sql.database import Database


@dataclass(frozen=True, slots=True)
class Wish:
    """Whether to write a record (`None`: use the settings), and its caller and tag."""

    record: bool | None = None
    caller: str | None = None
    tag: str = ""

    def wanted(self, settings: Settings, *, kept: bool) -> bool:
        """Whether to write a record. `kept`: the store still exists after the command."""
        if self.record is not None:
            return self.record
        return {"auto": kept, "always": True, "never": False}[settings.record.enabled]


NO_RECORD = Wish(record=False)


def recorded(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--record`, `--caller` and `--tag`, and pass them to the command as `wish`."""

    @wraps(command)
    def called(record: bool | None, caller: str | None, tag: str, **options: Any) -> int:
        return command(wish=Wish(record, caller, tag), **options)

    options = [
        click.option(
            "--record/--no-record",
            default=None,
            help="Record the decision in the store's log (default: yes with a permanent store).",
        ),
        click.option("--caller", help="Caller name in the record (default: your user name)."),
        click.option("--tag", default="", help="Tag in the record, such as a person or a case."),
    ]
    wrapped: Callable[..., int] = called
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


RECORD_RUN = click.option(
    "--record/--no-record",
    default=None,
    help="Record the figures of the run in the store's log (default: yes with a permanent store).",
)


def record_run(library: Library, made: Record, *, record: bool | None, kept: bool) -> None:
    """Append the record of a run to the log, if wanted; `kept` says that the store is permanent."""
    from suffice.record.log import Log

    if Wish(record).wanted(library.settings, kept=kept):
        log = Log(library.store.database, library.settings.record)
        log.append(made)
        log.close()


def recorder(database: Database, settings: Settings, wish: Wish, setup: Setup) -> Recorder:
    """A recorder for the store's log. The log is closed when the command ends."""
    from suffice.record.log import Log
    from suffice.record.sink import Recorder

    log = Log(database, settings.record)
    click.get_current_context().call_on_close(log.close)
    caller = user() if wish.caller is None else wish.caller
    return Recorder(log, setup.filing(caller, wish.tag))


def librarian(library: Library) -> Librarian:
    """A librarian that changes the documents of a library, and records this unless disabled."""
    from suffice.record.librarian import Librarian
    from suffice.record.log import Log

    if library.settings.record.enabled == "never":
        return Librarian(library, None)
    log = Log(library.store.database, library.settings.record)
    click.get_current_context().call_on_close(log.close)
    return Librarian(library, log, user())


def show_record(id: str) -> None:
    """Print the id of the record, if there is one."""
    if id:
        Console().print(Text(f"Record {id}", style="dim"))


def user() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""
