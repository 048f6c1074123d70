"""The monitor's job queue for deep checks and e-mails, shared by all processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from suffice.learn.monitor.observe import DEEP_CHECK
from suffice.learn.monitor.tables import JOBS
from suffice.sql.database import Database
from suffice.sql.toolkit import delete, func, select, update

__all__ = ["DEEP_CHECK", "MAIL", "Claimed", "Jobs"]
MAIL = "mail"
ATTEMPTS = 5
_CLAIM = 600.0
"""Seconds after which another process may take over the job of a process that died."""
_WAIT = 60.0


@dataclass(frozen=True, slots=True)
class Claimed:
    id: str
    kind: str
    record: str
    attempts: int


class Jobs:
    """The job queue. Safe across threads and processes."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def claim(self, kinds: tuple[str, ...]) -> Claimed | None:
        """Take the job that has been due the longest."""
        now = self._clock()
        due = (JOBS.c.due <= now, JOBS.c.kind.in_(kinds))
        with self._database.reading() as connection:
            if connection.execute(select(JOBS.c.id).where(*due).limit(1)).first() is None:
                return None
        with self._database.writing() as connection:
            first = select(JOBS).where(*due).order_by(JOBS.c.due, JOBS.c.id).limit(1)
            row = connection.execute(first.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            connection.execute(update(JOBS).where(JOBS.c.id == row.id).values(due=now + _CLAIM))
            return Claimed(row.id, row.kind, row.record, row.attempts)

    def done(self, job: Claimed) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(JOBS).where(JOBS.c.id == job.id))

    def failed(self, job: Claimed, problem: str) -> bool:
        """Try again later, or drop the job after the last attempt; return whether it is kept."""
        attempts = job.attempts + 1
        if attempts >= ATTEMPTS:
            self.done(job)
            return False
        values = {"attempts": attempts, "problem": problem[:500]}
        again = self._clock() + _WAIT * 2.0**job.attempts
        with self._database.writing() as connection:
            changed = update(JOBS).where(JOBS.c.id == job.id).values(due=again, **values)
            connection.execute(changed)
        return True

    def waiting(self) -> dict[str, int]:
        """The number of unfinished jobs of each kind."""
        with self._database.reading() as connection:
            asked = select(JOBS.c.kind, func.count()).group_by(JOBS.c.kind)
            return {str(kind): int(count) for kind, count in connection.execute(asked)}
