"""How commands that measure print their figures: as tables and lines, or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from suffice.cli import as_json as to_json

Figures = Mapping[str, Any]


def print_figures(figures: Any, parts: Iterable[RenderableType], *, as_json: bool = False) -> None:
    """Print the figures as JSON, or else the tables and lines that show them."""
    if as_json:
        to_json.show(figures)
        return
    console = Console()
    for part in parts:
        if isinstance(part, str):
            console.print(part, markup=False, highlight=False, soft_wrap=True)
        else:
            console.print(part)


def figures_table(first: str, *others: str, title: str | None = None, padding: int = 1) -> Table:
    """A table whose first column names the rows; the others hold numbers."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, padding, 0, 0), title=title)
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
    return table


def number(value: float | None) -> str:
    """A figure; one that is undefined is a dash."""
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}%}"
