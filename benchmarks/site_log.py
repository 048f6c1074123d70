"""The first page of the log over many records and over few: the ratio of their times.

python -m benchmarks site-log --records 100000
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.site_records import fill
from suffice.access.visibility import Reader
from suffice.lab.monitor.series import Span, decision_index, series
from suffice.log.index import DAY
from suffice.log.log import Log
from suffice.review.decisions import DecisionFilter, Decisions
from suffice.sql.database import Database

NOW = datetime(2026, 3, 1, tzinfo=UTC)
FEW = 1_000
PAGES = {
    "all": DecisionFilter(),
    "verdict": DecisionFilter(action="REVIEW"),
    "caller": DecisionFilter(caller="website"),
    "document": DecisionFilter(document="parental-leave.md"),
    "time": DecisionFilter(since="2026-02-01", until="2026-02-20"),
    "text": DecisionFilter(text="laptop"),
}
"""First pages of the log. The text occurs in one question of eight."""
OVERVIEW = "overview"


@dataclass(frozen=True, slots=True)
class Filled:
    """A store with this many decisions, and the seconds that writing and indexing them took."""

    database: Database
    records: int
    write_s: float
    index_s: float


def filled(path: Path, records: int) -> Filled:
    database = Database.open(path, create=True)
    begin = time.perf_counter()
    fill(database, records, NOW, group=max(records // 200, 1))
    written = time.perf_counter()
    decision_index(database, 0.3).catch_up()
    return Filled(database, records, written - begin, time.perf_counter() - written)


def milliseconds(store: Filled, rounds: int = 40) -> dict[str, float]:
    """The shortest time of each first page: what it costs when nothing else runs."""
    decisions, reader = Decisions(Log(store.database)), Reader()
    span = Span.last(30, DAY, NOW)
    calls: dict[str, Callable[[], object]] = {
        name: lambda wanted=wanted: decisions.page(wanted, reader)  # type: ignore[misc]
        for name, wanted in PAGES.items()
    }
    calls[OVERVIEW] = lambda: series(store.database, span, reader)
    return {name: _shortest(call, rounds) for name, call in calls.items()}


def _shortest(call: Callable[[], object], rounds: int) -> float:
    call()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times) * 1000
