"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from suffice.errors import StoreMissing

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
