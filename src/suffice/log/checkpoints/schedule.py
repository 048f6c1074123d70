"""Schedules checkpoints: after a number of records, or after some minutes if there are new records.

The head row holds the state of the log and the last checkpoint. If several processes share a log,
the first to find a checkpoint due writes it.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import timedelta

from suffice.errors import SufficeError
from suffice.log.checkpoints.checkpoint import Checkpoint
from suffice.log.checkpoints.destinations import place
from suffice.log.checkpoints.signing_keys import read_key, sign
from suffice.log.moment import Clock, read, timestamp
from suffice.log.seal import Head, head_of
from suffice.log.tables import HEAD
from suffice.settings import SignSettings
from suffice.sql.database import Database
from suffice.sql.toolkit import update

_LOG = logging.getLogger("suffice.record")


@dataclass(frozen=True, slots=True)
class Signer:
    """Signs the state of the log and sends it to every configured destination."""

    database: Database
    settings: SignSettings
    clock: Clock

    def due(self, head: Head) -> bool:
        new = head.sequence - head.checkpoint
        if new <= 0:
            return False
        if 0 < self.settings.every_records <= new:
            return True
        if not self.settings.every_minutes:
            return False
        passed = timedelta(minutes=self.settings.every_minutes)
        # A checkpoint from the future was written by a clock that had jumped.
        return not head.checkpoint_time or (
            abs(self.clock() - read(head.checkpoint_time)) >= passed
        )

    def write(self, *, always: bool = False) -> Checkpoint | None:
        """Write a checkpoint if one is due. If a destination fails, the checkpoint stays due."""
        key = read_key(self.settings.key_file)
        head = self._claim(always)
        if head is None:
            return None
        now, count = timestamp(self.clock()), head.sequence
        point = sign(Checkpoint(head.log, count, head.link, now, count, key=""), key)
        try:
            for where in self.settings.destinations:
                place(where).keep(point)
        except SufficeError:
            self._give_back(head)
            raise
        return point

    def _claim(self, always: bool) -> Head | None:
        with self.database.writing() as connection:
            head = head_of(connection, hold=True)
            if not head.sequence or not (always or self.due(head)):
                return None
            now = timestamp(self.clock())
            connection.execute(
                update(HEAD)
                .where(HEAD.c.id == 1)
                .values(checkpoint=head.sequence, checkpoint_time=now)
            )
            return head

    def _give_back(self, head: Head) -> None:
        with self.database.writing() as connection:
            connection.execute(
                update(HEAD)
                .where(HEAD.c.id == 1, HEAD.c.checkpoint == head.sequence)
                .values(checkpoint=head.checkpoint, checkpoint_time=head.checkpoint_time)
            )


class Schedule:
    """Writes checkpoints in a background thread, so that answers do not wait for them. Failures are
    logged and retried."""

    def __init__(self, signer: Signer) -> None:
        self._signer = signer
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()

    def sealed(self, head: Head) -> None:
        """Called with the state of the log after each commit."""
        with self._lock:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
                self._thread.start()
        if self._signer.due(head):
            self._wake.set()

    def close(self) -> None:
        """Write a checkpoint if one is due, and stop the thread."""
        with self._lock:
            self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        seconds = self._signer.settings.every_minutes * 60 or None
        while not self._closed:
            self._wake.wait(seconds)
            self._wake.clear()
            self._try()

    def _try(self) -> None:
        try:
            self._signer.write()
        except SufficeError as problem:
            _LOG.warning("Failed to write a checkpoint: %s", problem)
