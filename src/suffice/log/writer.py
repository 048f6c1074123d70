"""Prepares and seals records, in one thread per process: all waiting records at once.

While one group is being committed, the next one collects, so the number of transactions per record
falls as the load grows.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from suffice.errors import SettingsError, StoreDamaged, StoreError
from suffice.log.chain import Clock, genesis, link_of, read_time, timestamp
from suffice.log.masking import Masks
from suffice.log.record import WHO, Payload, Record, payload
from suffice.log.tables import HEAD, RECORDS
from suffice.settings import RecordSettings
from suffice.sql import sa
from suffice.sql.database import Database

FIELDS = (
    "question passages texts evidence gate claims drafts findings released outcome thresholds "
    "timings nearest missing reason comment"
).split()
"""Fields that `record.omit_fields` can exclude."""
LARGEST = 256_000_000
_NO_TEXT = str.maketrans(dict.fromkeys((0, *range(55296, 57344)), "�"))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record ready for sealing; `caller` and `tag` are `None` if absent or not to be stored."""

    id: str
    kind: str
    caller: str | None
    tag: str | None
    payload: Payload
    once: bool = False


@dataclass(frozen=True, slots=True)
class Prepare:
    """Turns records into prepared records, according to the settings."""

    masks: Masks
    omit: frozenset[str]

    @classmethod
    def of(cls, settings: RecordSettings) -> Prepare:
        unknown = set(settings.omit_fields) - {*FIELDS, WHO}
        if unknown:
            raise SettingsError(
                f"record.omit_fields: records have no field '{min(unknown)}'.",
                remedy=f"Allowed values: {', '.join((WHO, *FIELDS))}.",
            )
        return cls(Masks.of(settings), frozenset(settings.omit_fields))

    def __call__(self, record: Record, never: frozenset[str] = frozenset()) -> Prepared:
        """Prepare a record. Fields in `never` are not stored, regardless of the settings."""
        caller, tag = record.caller.translate(_NO_TEXT), record.tag.translate(_NO_TEXT)
        fields = {WHO: [caller, tag], **self._masked(record)}
        prepared = payload(fields, self.omit | never)
        if len(prepared.text) > LARGEST:
            raise StoreError(
                f"The record has {len(prepared.text):,} characters, over the limit of {LARGEST:,}.",
                remedy="Exclude large fields with record.omit_fields.",
            )
        who_is_stored = WHO not in self.omit
        return Prepared(
            record.id,
            record.kind,
            caller or None if who_is_stored else None,
            tag or None if who_is_stored else None,
            prepared,
            record.once,
        )

    def _masked(self, record: Record) -> dict[str, object]:
        """The masked fields. `once` records are not masked: they contain no user text."""
        if record.once or not self.masks.sorts:
            return dict(record.fields)
        counts: Counter[str] = Counter()
        fields: dict[str, object] = self.masks.tree(dict(record.fields), counts)
        return {**fields, "masked": dict(counts)} if counts else fields


# Built once: building a statement takes longer than running it.
_HEAD = sa.select(HEAD).where(HEAD.c.id == 1)
_APPEND = sa.insert(RECORDS)
_MOVE = (
    sa.update(HEAD)
    .where(HEAD.c.id == 1)
    .values({name: sa.bindparam(f"new_{name}") for name in ("sequence", "link", "time")})
)
_SKEW = timedelta(seconds=1)
"""The tolerated clock difference between machines."""
_WRONG = timedelta(minutes=10)
"""A larger difference is no difference between machines: the log's last time is wrong, because a
clock had jumped forward, or this clock is."""


@dataclass(frozen=True, slots=True)
class Head:
    """The state of a log: its last record."""

    log: str
    sequence: int
    link: str
    time: str


def head_of(connection: sa.Connection, *, hold: bool = False) -> Head:
    """Read the head; `hold` blocks other appends until the transaction ends."""
    row = connection.execute(_HEAD.with_for_update() if hold else _HEAD).first()
    if row is None:
        raise StoreDamaged(
            "The head row of the log is missing, so no record can be appended.",
            remedy="Run suffice audit verify, and restore the store from a backup.",
        )
    if not row.sequence:
        return Head(row.log, 0, genesis(row.log).decode(), "")
    return Head(row.log, row.sequence, row.link, row.time)


def seal(connection: sa.Connection, group: Sequence[Prepared], now: datetime) -> Head:
    """Append a group of records in order, skipping `once` records that already exist."""
    head = head_of(connection, hold=True)
    time, clock = _moment(head, now)
    existing = _existing(connection, [record.id for record in group if record.once])
    link, sequence = head.link.encode(), head.sequence
    rows = []
    for record in group:
        if record.id in existing:
            continue
        sequence += 1
        root, sealed = record.payload.root, record.payload.seal
        link = link_of(link, sequence, record.id, time, clock, record.kind, root, sealed)
        rows.append(
            {
                "sequence": sequence,
                "id": record.id,
                "time": time,
                "clock": clock,
                "kind": record.kind,
                "caller": record.caller,
                "tag": record.tag,
                "root": root,
                "seal": sealed,
                "link": link.decode(),
                "payload": record.payload.text,
            }
        )
        existing |= {record.id} if record.once else set()
    if not rows:
        return head
    connection.execute(_APPEND, rows)
    connection.execute(
        _MOVE, {"new_sequence": sequence, "new_link": link.decode(), "new_time": time}
    )
    return Head(head.log, sequence, link.decode(), time)


def _existing(connection: sa.Connection, ids: Collection[str]) -> set[str]:
    if not ids:
        return set()
    return set(connection.scalars(sa.select(RECORDS.c.id).where(RECORDS.c.id.in_(ids))))


def _moment(head: Head, now: datetime) -> tuple[str, str]:
    """The timestamp of the next records, and the clock reading if the clock is behind the log by
    more than the tolerance. The timestamp goes back only where a clock was wrong, and then equals
    the clock reading, so that a verification can report the place."""
    time = timestamp(now)
    if time >= head.time:
        return time, ""
    behind = read_time(head.time) - now
    if behind > _WRONG:
        return time, time
    return head.time, time if behind > _SKEW else ""


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
        on_commit: Callable[[Head], None] = lambda head: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._queued = queued
        self._on_commit = on_commit
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self.sealed_once: set[str] = set()
        """Ids of `once` records that this process knows to be in the log."""
        self._thread: threading.Thread | None = None
        self._problem: StoreError | None = None
        self._closed = False
        self._process = os.getpid()
        if queued:
            atexit.register(_finish, weakref.ref(self))

    def append(self, records: Sequence[Prepared]) -> None:
        job = _Job(records)
        with self._changed:
            self._enqueue(job)
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

    def _enqueue(self, job: _Job) -> None:
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
        self.sealed_once |= {record.id for record in records if record.once}
        with self._changed:
            self._problem = None
            self._changed.notify_all()
        for job in group:
            job.done()
        try:
            self._on_commit(head)
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
    if (open_writer := writer()) is not None and not open_writer._closed:
        open_writer.close()
