"""Progress on standard error: bars on a terminal, otherwise an occasional line for log files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from suffice.evidence.ingest import Progress as Report


EVERY = 10.0


class _Rate(TextColumn):
    """A column with items per second."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        return Text(f"{_rate(task.speed)}/s" if task.speed else "", style="dim")


@dataclass
class Lines:
    """Prints at most one line per `EVERY` seconds, so short tasks print nothing."""

    console: Console
    clock: Callable[[], float] = monotonic
    printed: float = field(init=False)
    begun: dict[str, tuple[float, int]] = field(default_factory=dict)
    """For each task, when it was first reported and how much was done then."""

    def __post_init__(self) -> None:
        self.printed = self.clock()

    def __call__(self, what: str, done: int, total: int) -> None:
        now = self.clock()
        since, before = self.begun.setdefault(what, (now, done))
        if now - self.printed >= EVERY:
            self.printed = now
            line = f"{what}: {done:,} of {total:,}"
            if done > before and now > since:
                speed = (done - before) / (now - since)
                left = timedelta(seconds=round((total - done) / speed))
                line = f"{line}, {_rate(speed)}/s, {left} left"
            self.console.print(line, highlight=False, soft_wrap=True)


def _rate(speed: float) -> str:
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.1f}"


@contextmanager
def bars(*, quiet: bool) -> Iterator[Report]:
    """Yield a callback that draws a bar per task (documents, passages, index), or prints lines if
    standard error is no terminal."""
    console = Console(stderr=True)
    if quiet:
        yield lambda what, done, total: None
        return
    if not console.is_terminal:
        yield Lines(console)
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
                # What an earlier run did counts as done, but not for the rate.
                tasks[what] = progress.add_task(what, total=total, completed=done)
            progress.update(tasks[what], completed=done, total=total)

        yield report
