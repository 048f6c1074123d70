"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

CONFIG = click.option("--config", type=click.Path(), help="Settings file (default: suffice.yaml).")
STORE = (
    CONFIG,
    click.option(
        "--store", metavar="FILE_OR_URL", help="Store file or PostgreSQL URL (default: suffice.db)."
    ),
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
QUIET = click.option("--quiet", is_flag=True, help="No progress bars.")


def with_options(command: F, *options: Callable[[F], F]) -> F:
    """Add options to a command, in the order in which its help shows them."""
    for option in reversed(options):
        command = option(command)
    return command
