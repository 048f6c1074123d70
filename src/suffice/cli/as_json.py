"""JSON output of `--json`. The shapes are documented in docs/reference/cli.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from suffice import schema
from suffice.errors import SufficeError


def show(value: Any) -> None:
    """Print a value: an object of the schema, or plain data."""
    click.echo(json.dumps(schema.tree(value), ensure_ascii=False, indent=2))


def write_lines(rows: Iterable[Any], out: Path | None) -> None:
    """Write JSON lines to a file, or to standard output."""
    try:
        with out.open("w", encoding="utf-8") if out else nullcontext(sys.stdout) as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
    except OSError as problem:
        if out is None:
            raise
        raise SufficeError(
            f"Cannot write {out}: {problem.strerror}.", remedy="Choose another file."
        ) from problem
