"""Processes that write to one store concurrently, timed from the moment all of them are ready."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert

from benchmarks.record_sample import FILING, TRACE, VERDICT
from suffice.log.decision import of_verdict
from suffice.log.log import Log
from suffice.log.record import new_id
from suffice.log.tables import CHECKPOINTS
from suffice.log.writer import Prepare
from suffice.settings import RecordSettings
from suffice.sql.database import Database

WRITERS, THREADS = 8, 32
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Rate:
    """The rate per second, the processor time of each item, and the number of cores used: fewer
    than available if other processes are busy."""

    per_s: float
    cpu_us: float
    cores: float


def appended(place: str, records: int) -> Rate:
    """Records per second that all writers together append: masked, hashed, sealed and committed,
    each acknowledged to a waiting thread."""
    return _rate(_append, place, records)


def inserted(place: str, rows: int, group: int) -> Rate:
    """Rows of the same size per second inserted into a table without a hash chain, with the given
    number per transaction: the capacity of the database itself."""
    return _rate(_insert, place, rows, group)


def _rate(work: Callable[..., None], place: str, count: int, *more: int) -> Rate:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # the writers import once, not each
    ready, done = context.Barrier(WRITERS), context.Queue()
    each = count // WRITERS
    running = [
        context.Process(target=work, args=(place, each, ready, done, *more)) for _ in range(WRITERS)
    ]
    for process in running:
        process.start()
    spans = [done.get(timeout=10 * _PATIENCE) for _ in running]
    for process in running:
        process.join()
    seconds = max(span[1] for span in spans) - min(span[0] for span in spans)
    cpu, total = sum(span[2] for span in spans), each * WRITERS
    return Rate(total / seconds, cpu / total * 1e6, cpu / seconds)


def _append(place: str, count: int, ready: Any, done: Any) -> None:
    log = Log.open(place, wait=_PATIENCE)
    records = [record for _ in range(count) for record in of_verdict(VERDICT, TRACE, FILING)]

    def some(first: int) -> None:
        for record in records[first::THREADS]:
            log.append(record)

    threads = [threading.Thread(target=some, args=(n,)) for n in range(THREADS)]
    ready.wait(_PATIENCE)
    start, cpu = time.time(), time.process_time()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.put((start, time.time(), time.process_time() - cpu))
    log.close()
    log.database.close()


def _insert(place: str, count: int, ready: Any, done: Any, group: int) -> None:
    database = Database.open(place, wait=_PATIENCE)
    (record, *_) = of_verdict(VERDICT, TRACE, FILING)
    text = Prepare.of(RecordSettings())(record).payload.text
    rows = [{"log": new_id(), "sequence": n, "body": text} for n in range(count)]
    ready.wait(_PATIENCE)
    start, cpu = time.time(), time.process_time()
    for first in range(0, count, group):
        with database.writing() as connection:
            connection.execute(insert(CHECKPOINTS), rows[first : first + group])
    done.put((start, time.time(), time.process_time() - cpu))
    database.close()
