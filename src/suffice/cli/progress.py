"""Progress bars for long work, on standard error; silent when asked to be or when nobody looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from suffice.evidence.ingest import Progress as Report


class _Rate(TextColumn):
    """How many a second."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="dim")


@contextmanager
def bars(*, quiet: bool) -> Iterator[Report]:
    """A callback that draws a bar for each kind of work: documents, passages, index."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda what, done, total: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:>10}"),
        BarColumn(),
        MofNCompleteColumn(),
        _Rate(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        tasks = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield report
