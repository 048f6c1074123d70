"""Failed sign-in attempts: after a few, each further attempt has to wait longer.

Counts are kept in the store, by account and by address, so that all processes share them. A count
is reset after a success, or after `_FORGOTTEN` seconds without a failure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from sqlalchemy import delete, select

from suffice.log.tables import SIGN_IN_FAILURES
from suffice.sql.database import Database
from suffice.sql.upsert import upsert

_FIRST, _LONGEST = 2.0, 900.0
_FORGOTTEN = 3_600.0


class Attempts:
    """Failed attempts by subject. Thread-safe."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def wait(self, allowed: Mapping[str, int]) -> float:
        """Seconds until all subjects may try again; `allowed` is the number of failures that each
        may have without a wait."""
        table, now = SIGN_IN_FAILURES, self._clock()
        asked = select(table).where(table.c.subject.in_(list(allowed)))
        with self._database.reading() as connection:
            rows = connection.execute(asked).all()
        return max(
            (_left(row.failures - allowed[row.subject], now - row.last) for row in rows),
            default=0.0,
        )

    def failed(self, *subjects: str) -> None:
        """Count a failure for each subject."""
        table, now = SIGN_IN_FAILURES, self._clock()
        with self._database.writing() as connection:
            connection.execute(delete(table).where(table.c.last <= now - _FORGOTTEN))
            for subject in sorted(subjects):
                new = upsert(connection, table).values(subject=subject, failures=1, last=now)
                more = {"failures": table.c.failures + 1, "last": now}
                connection.execute(new.on_conflict_do_update(index_elements=["subject"], set_=more))

    def succeeded(self, *subjects: str) -> None:
        """Forget the failures of these subjects."""
        table = SIGN_IN_FAILURES
        with self._database.writing() as connection:
            connection.execute(delete(table).where(table.c.subject.in_(subjects)))


def _left(excess: int, since: float) -> float:
    """The seconds left to wait after `excess` failures beyond those allowed."""
    if excess < 0 or since > _FORGOTTEN:
        return 0.0
    return max(min(_FIRST * 2.0 ** min(excess, 30), _LONGEST) - since, 0.0)
