"""Whether and how a command records what it did, in the log of the store."""

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

from suffice.cli.options import with_options
from suffice.settings import Settings

if TYPE_CHECKING:  # a check that is not recorded needs no store
    from suffice.evidence.library import Library
    from suffice.log.librarian import Librarian
    from suffice.log.log import Log
    from suffice.log.record import Record
    from suffice.sql.database import Database


@dataclass(frozen=True, slots=True)
class RecordOption:
    """Whether to write a record (`None`: use the settings), and its caller and tag."""

    record: bool | None = None
    caller: str | None = None
    tag: str = ""

    @property
    def caller_name(self) -> str:
        return user() if self.caller is None else self.caller

    def wanted(self, settings: Settings, *, kept: bool) -> bool:
        """Whether to write a record. `kept`: the store still exists after the command."""
        if self.record is not None:
            return self.record
        return {"auto": kept, "always": True, "never": False}[settings.record.enabled]


NO_RECORD = RecordOption(record=False)


def recorded(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--record`, `--caller` and `--tag`, and pass them to the command as `record_option`."""

    @wraps(command)
    def called(record: bool | None, caller: str | None, tag: str, **options: Any) -> int:
        return command(record_option=RecordOption(record, caller, tag), **options)

    options = [
        click.option(
            "--record/--no-record",
            default=None,
            help="Record the decision in the store's log (default: yes with a permanent store).",
        ),
        click.option("--caller", help="Caller name in the record (default: your user name)."),
        click.option("--tag", default="", help="Tag in the record, such as a person or a case."),
    ]
    return with_options(called, *options)


RECORD_RUN = click.option(
    "--record/--no-record",
    default=None,
    help="Record the figures of the run in the store's log (default: yes with a permanent store).",
)


def record_run(library: Library, made: Record, *, record: bool | None, kept: bool) -> None:
    """Append the record of a run to the log, if wanted; `kept` says that the store is permanent."""
    from suffice.log.log import Log

    if RecordOption(record).wanted(library.settings, kept=kept):
        log = Log(library.store.database, library.settings.record)
        log.append(made)
        log.close()


def open_log_of(database: Database, settings: Settings) -> Log:
    """The log of a store. It is closed when the command ends."""
    from suffice.log.log import Log

    log = Log(database, settings.record)
    click.get_current_context().call_on_close(log.close)
    return log


def librarian(library: Library) -> Librarian:
    """A librarian that changes the documents of a library, and records this unless disabled."""
    from suffice.log.librarian import Librarian

    if library.settings.record.enabled == "never":
        return Librarian(library, None)
    return Librarian(library, open_log_of(library.store.database, library.settings), user())


def show_record(id: str) -> None:
    """Print the id of the record, if there is one."""
    if id:
        Console().print(Text(f"Record {id}", style="dim"))


def user() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""
