"""Seals records in one thread per process, all waiting records at once.

While one group is being committed, the next one collects, so the number of transactions per record
falls as the load grows.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence

from suffice.errors import StoreError
from suffice.log.moment import Clock
from suffice.log.prepare import Prepared
from suffice.log.seal import Head, seal
from suffice.sql.database import Database

_LOG = logging.getLogger("suffice.record")
_MOST = 1_000
_CHARACTERS = 32_000_000
_WAITING = 10_000
_AGAIN = 1.0
"""Seconds between retries of queued records after the store failed."""


class _Job:
    """Records that are sealed together in one transaction."""

    __slots__ = ("_turn", "problem", "records", "size")

    def __init__(self, records: Sequence[Prepared]) -> None:
        self.records = tuple(records)
        self.size = sum(len(record.payload.text) for record in records)
        self.problem: BaseException | None = None
        self._turn = threading.Lock()  # the cheapest primitive to wait on
        self._turn.acquire()

    def done(self, problem: BaseException | None = None) -> None:
        self.problem = problem
        self._turn.release()

    def wait(self) -> None:
        """Wait until the records are sealed; raise if that failed."""
        self._turn.acquire()
        if isinstance(self.problem, StoreError):  # each waiting thread raises its own instance
            raise type(self.problem)(
                self.problem.message, remedy=self.problem.remedy
            ) from self.problem
        if self.problem is not None:
            raise self.problem


class Writer:
    """Writes to the log. `append` returns once the records are committed, or with `queued` once
    they are queued. If the store fails, `append` raises, and the next call tries again."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        queued: bool = False,
        sealed: Callable[[Head], None] = lambda head: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._queued = queued
        self._sealed = sealed
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self.known: set[str] = set()
        """Ids of `once` records that are known to be in the log."""
        self._thread: threading.Thread | None = None
        self._problem: StoreError | None = None
        self._closed = False
        self._process = os.getpid()
        if queued:
            atexit.register(_finish, weakref.ref(self))

    def append(self, records: Sequence[Prepared]) -> None:
        job = _Job(records)
        self._hand_over(job)
        if not self._queued:
            job.wait()

    def close(self) -> None:
        """Seal all queued records; raise if that fails."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None and self._process == os.getpid():
            self._thread.join()
        if self._jobs and self._problem:
            lost = sum(len(job.records) for job in self._jobs)
            self._jobs.clear()
            raise type(self._problem)(
                f"{lost} records could not be written: {self._problem.message}",
                remedy=self._problem.remedy,
            )

    def _hand_over(self, job: _Job) -> None:
        with self._changed:
            if self._closed or self._process != os.getpid():
                raise StoreError(
                    "The log is closed, or was opened by another process.",
                    remedy="Open the log in the process that writes to it, after any fork.",
                )
            while self._queued and len(self._jobs) >= _WAITING and self._problem is None:
                self._changed.wait(_AGAIN)
            if self._queued and self._problem:
                raise type(self._problem)(self._problem.message, remedy=self._problem.remedy)
            self._jobs.append(job)
            self._changed.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="record", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while group := self._next():
            try:
                self._seal(group)
            except StoreError as problem:
                if not self._failed(group, problem):
                    return
            except BaseException as problem:  # no thread may wait forever
                _LOG.exception("Failed to seal %d groups of records.", len(group))
                for job in group:
                    job.done(problem)

    def _next(self) -> list[_Job]:
        """The next jobs to seal together; empty once the log is closed and all jobs are done."""
        with self._changed:
            while not self._jobs:
                if self._closed:
                    return []
                self._changed.wait()
            group: list[_Job] = []
            records = size = 0
            while self._jobs and records < _MOST and size < _CHARACTERS:
                group.append(self._jobs.popleft())
                records, size = records + len(group[-1].records), size + group[-1].size
            return group

    def _seal(self, group: Sequence[_Job]) -> None:
        records = [record for job in group for record in job.records]
        with self._database.writing() as connection:
            head = seal(connection, records, self._clock())
        self.known |= {record.id for record in records if record.once}
        with self._changed:
            self._problem = None
            self._changed.notify_all()
        for job in group:
            job.done()
        try:
            self._sealed(head)
        except Exception:  # the records are committed, whatever the callback does
            _LOG.exception("Post-commit callback failed; the records are safe.")

    def _failed(self, group: Sequence[_Job], problem: StoreError) -> bool:
        """Report the error to waiting threads, or keep queued records for a retry until the log is
        closed. Return whether the writer continues."""
        if not self._queued:
            for job in group:
                job.done(problem)
            return True
        with self._changed:
            self._problem = problem
            self._jobs.extendleft(reversed(group))
            if not self._closed:
                self._changed.wait(_AGAIN)
                return True
            return False


def _finish(writer: weakref.ref[Writer]) -> None:
    """Write queued records before the process ends."""
    if (found := writer()) is not None and not found._closed:
        found.close()
