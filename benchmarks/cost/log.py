"""The time to read the first page of the log and to append a verdict, by the records in the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.cost.series import Series, shortest
from benchmarks.record import fill
from benchmarks.record_sample import FILING, TRACE, VERDICT
from suffice.evidence.ingest import Progress
from suffice.log.log import Log

SIZES = (1_000, 100_000, 1_000_000)
_CALLS = 10
"""Calls in a repeat: one alone is too short to time."""


def logging(
    folder: Path, sizes: Sequence[int], repeats: int, progress: Progress
) -> Iterator[tuple[str, Series]]:
    """Fill a log of each size in `folder`, then use them in turns."""
    for size in sizes:
        fill(folder / f"{size}.db", size, progress)
    logs = {size: Log.open(folder / f"{size}.db") for size in sizes}

    def page(log: Log) -> None:
        for _ in range(_CALLS):
            log.page()

    def append(log: Log) -> None:
        for _ in range(_CALLS):
            log.write(VERDICT, TRACE, FILING)

    try:
        for name, what, call in (
            ("page", "time of a page", page),
            ("append", "time of an append", append),
        ):
            works = {size: lambda turn, log=log, call=call: call(log) for size, log in logs.items()}
            times = {size: ms / _CALLS for size, ms in shortest(works, repeats).items()}
            yield f"log_{name}", Series("Log size", "records", what, times)
    finally:
        for log in logs.values():
            log.close()
            log.database.close()
