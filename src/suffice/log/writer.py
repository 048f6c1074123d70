"""One thread a process that seals what the others hand it, as many at once as are waiting.

While one group is on its way to the disk, the next one gathers: the more is asked of it, the fewer
transactions it takes for each.
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
"""Seconds until what is queued is tried once more after the store failed."""


class _Job:
    """Records that belong together: all of them are sealed in one transaction."""

    __slots__ = ("_turn", "problem", "records", "size")

    def __init__(self, records: Sequence[Prepared]) -> None:
        self.records = tuple(records)
        self.size = sum(len(one.payload.text) for one in records)
        self.problem: BaseException | None = None
        self._turn = threading.Lock()  # the cheapest thing to wait for
        self._turn.acquire()

    def done(self, problem: BaseException | None = None) -> None:
        self.problem = problem
        self._turn.release()

    def wait(self) -> None:
        """Returns when it is sealed; what went wrong is raised."""
        self._turn.acquire()
        if isinstance(self.problem, StoreError):  # many wait for one group: to each its own
            raise type(self.problem)(
                self.problem.message, remedy=self.problem.remedy
            ) from self.problem
        if self.problem is not None:
            raise self.problem


class Writer:
    """`append` returns once what it was given is committed, or, with `queued`, once it waits for
    that. Where the store fails, `append` says so, and tries again at the next call."""

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
        """Ids of what is in the log once, and is known to be there."""
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
        """Seals what still waits; what cannot be is told."""
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
                    "This log is closed, or was opened by another process.",
                    remedy="Open it in the process that writes, after any fork.",
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
            except BaseException as problem:  # nobody may wait for ever, whatever happened
                _LOG.exception("%d groups of records could not be sealed.", len(group))
                for job in group:
                    job.done(problem)

    def _next(self) -> list[_Job]:
        """The jobs that are sealed together; none once all is done and closed."""
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
        records = [one for job in group for one in job.records]
        with self._database.writing() as connection:
            head = seal(connection, records, self._clock())
        self.known |= {one.id for one in records if one.once}
        with self._changed:
            self._problem = None
            self._changed.notify_all()
        for job in group:
            job.done()
        try:
            self._sealed(head)
        except Exception:  # it is sealed, whatever they do who are told so
            _LOG.exception("What comes after a seal failed.")

    def _failed(self, group: Sequence[_Job], problem: StoreError) -> bool:
        """Whoever waits is told. What nobody waits for is kept and tried again, until the log is
        closed."""
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
    """What is queued is written before the process ends."""
    if (found := writer()) is not None and not found._closed:
        found.close()
