"""Where commands keep a record of what they decide: in the log of the store they use."""

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

if TYPE_CHECKING:  # whoever only searches does without the log
    from suffice.record.setup import Setup
    from suffice.record.sink import Recorder
    from suffice.sql.database import Database


@dataclass(frozen=True, slots=True)
class Wish:
    """Whether a record is asked for (`None`: as the settings say), and what it is filed under."""

    record: bool | None = None
    caller: str | None = None
    tag: str = ""

    def wanted(self, settings: Settings, *, kept: bool) -> bool:
        """`kept`: the store stays when the command is done."""
        if self.record is not None:
            return self.record
        return {"auto": kept, "always": True, "never": False}[settings.record.enabled]


NO_RECORD = Wish(record=False)


def recorded(command: Callable[..., int]) -> Callable[..., int]:
    """`--record`, `--caller`, `--tag`; the command is given them as `wish`."""

    @wraps(command)
    def called(record: bool | None, caller: str | None, tag: str, **options: Any) -> int:
        return command(wish=Wish(record, caller, tag), **options)

    options = [
        click.option(
            "--record/--no-record",
            default=None,
            help="Keep a record in the store's log, or none (default: where a store is kept).",
        ),
        click.option("--caller", help="Who asks, for the record (default: your user name)."),
        click.option("--tag", default="", help="Whom or what it is about, for the record."),
    ]
    wrapped: Callable[..., int] = called
    for option in reversed(options):
        wrapped = option(wrapped)
    return wrapped


def recorder(database: Database, settings: Settings, wish: Wish, setup: Setup) -> Recorder:
    """Keeps decisions in a store's log, which is closed when the command ends."""
    from suffice.record.decision import Filing
    from suffice.record.log import Log
    from suffice.record.sink import Recorder

    log = Log(database, settings.record)
    click.get_current_context().call_on_close(log.close)
    caller = user() if wish.caller is None else wish.caller
    return Recorder(log, Filing(caller, wish.tag, setup.record()))


def show_record(id: str) -> None:
    """Where to find what was decided."""
    if id:
        Console().print(Text(f"Record {id}", style="dim"))


def user() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return ""
