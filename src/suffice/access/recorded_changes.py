"""Changes to principals and teams, each recorded in the log unless recording is off."""

from __future__ import annotations

from suffice.log.moment import Clock, now
from suffice.log.prepare import Prepare
from suffice.log.record import Record
from suffice.log.seal import seal
from suffice.settings import RecordSettings
from suffice.sql.database import Database
from suffice.sql.toolkit import Connection


class RecordedChanges:
    """Base class for a part of the store whose changes are recorded. Thread-safe."""

    def __init__(
        self, database: Database, clock: Clock = now, settings: RecordSettings | None = None
    ) -> None:
        settings = settings or RecordSettings()
        self._database = database
        self._clock = clock
        self._prepare = None if settings.enabled == "never" else Prepare.of(settings)

    def _seal(self, connection: Connection, record: Record) -> None:
        """Record a change in the transaction that makes it, so that the log covers every change."""
        if self._prepare is not None:
            seal(connection, [self._prepare(record)], self._clock())
