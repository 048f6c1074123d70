"""JSON output of `--json`. The shapes are documented in docs/reference/cli.md."""

from __future__ import annotations

import json
from typing import Any

import click

from suffice.serialize import (
    checked,
    citation,
    conflict,
    evidence,
    finding,
    gate,
    report,
    source,
    verdict,
    version,
)

__all__ = [
    "checked",
    "citation",
    "conflict",
    "evidence",
    "finding",
    "gate",
    "report",
    "show",
    "source",
    "verdict",
    "version",
]


def show(value: Any) -> None:
    click.echo(json.dumps(value, ensure_ascii=False, indent=2))
