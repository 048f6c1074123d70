"""Erasure of the content of records, by subject or by age.

The chain stays verifiable because it holds salted commitments; the salts are erased with the
payload. Each erasure is recorded. A missing payload without such a record is a fault.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from suffice.log.chain import Clock, timestamp
from suffice.log.follower import ERASURE, hold_cursors
from suffice.log.record import WHO, Record, lines, manifest, without_fields
from suffice.log.tables import DECISIONS, RECORDS, USES
from suffice.log.writer import Prepare, head_of, seal
from suffice.sql import sa
from suffice.sql.database import Database

Span = tuple[int, int]
"""The first and last sequence number of a run."""


def spans(sequences: Iterable[int]) -> list[Span]:
    """Group ordered sequence numbers into runs.

    >>> spans([1, 2, 3, 7])
    [(1, 3), (7, 7)]
    """
    found: list[Span] = []
    for sequence in sequences:
        if found and found[-1][1] == sequence - 1:
            found[-1] = (found[-1][0], sequence)
        else:
            found.append((sequence, sequence))
    return found


@dataclass(slots=True)
class _MissingRun:
    """A run of records that lack the same fields; `id` is the id of the first."""

    start: int
    end: int
    names: frozenset[str]
    id: str


@dataclass(slots=True)
class Erasures:
    """The missing fields, and the fields that erasure records declare as erased."""

    gone: list[_MissingRun] = field(default_factory=list)
    declared: list[tuple[int, Span, frozenset[str] | None]] = field(default_factory=list)
    records: int = 0

    def lacks(self, sequence: int, names: frozenset[str], id: str) -> None:
        self.records += 1
        last = self.gone[-1] if self.gone else None
        if last and last.end == sequence - 1 and last.names == names:
            last.end = sequence
        else:
            self.gone.append(_MissingRun(sequence, sequence, names, id))

    def declares(self, sequence: int, fields: dict[str, Any]) -> None:
        """Add an erasure record; its field `erased` lists field names, `None` means all."""
        erased = fields.get("erased")
        names = None if erased is None else frozenset(erased)
        for start, end in fields.get("records", ()):
            self.declared.append((sequence, (start, end), names))

    def silent(self) -> Iterator[tuple[int, str, frozenset[str]]]:
        """The first record of each run with missing fields that no later record declares."""
        for run in self.gone:
            sequence = run.start
            while sequence <= run.end:
                left, until = self._left(sequence, run)
                if left:
                    yield sequence, run.id if sequence == run.start else "", left
                sequence = until + 1

    def _left(self, sequence: int, run: _MissingRun) -> tuple[frozenset[str], int]:
        """The undeclared fields of a record, and the last record for which this result holds."""
        left, until = run.names, run.end
        for declared_at, (start, end), names in self.declared:
            if declared_at <= sequence:
                continue
            if start <= sequence <= end:
                left = frozenset() if names is None else left - names
                until = min(until, end, declared_at - 1)
            elif start > sequence:
                until = min(until, start - 1)
        return left, until


KEPT = (ERASURE, "setup")
"""Kinds that are never erased: they contain no user text, and other records depend on them."""
_PORTION = 200
_INDEXED = (
    (WHO, "caller", None),
    ("question", "question", ""),
    ("released", "released", ""),
    ("outcome", "action", ""),
    ("outcome", "confidence", None),
    ("gate", "level", ""),
    ("passages", "scope", 0),  # unknown
    ("timings", "seconds", None),
)
"""Fields of a record, the index columns that repeat them, and the value after an erasure."""
_SOURCES = frozenset({"passages", "evidence"})
_AT_ONCE = 5_000
"""Records erased per transaction; other processes can append between transactions."""


@dataclass(frozen=True, slots=True)
class Erased:
    """The number of records whose content was erased, and the ids of the erasure records."""

    records: int = 0
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases content and records the erasure in the same transaction."""

    database: Database
    prepare: Prepare
    clock: Clock

    def subject(self, name: str, *, reason: str = "", by: str = "") -> Erased:
        """Erase the content of all records with this caller or tag. The erasure record stores only
        a commitment to the name, which can later prove whose content was erased."""
        chosen = sa.or_(RECORDS.c.caller == name, RECORDS.c.tag == name)
        return self._all(chosen, {"why": "subject", "subject": name, "reason": reason}, by)

    def before(
        self,
        moment: datetime,
        *,
        names: Collection[str] = (),
        kinds: Collection[str] = (),
        by: str = "",
    ) -> Erased:
        """Erase the content, or only the fields `names`, of records sealed before a moment."""
        chosen: sa.ColumnElement[bool] = RECORDS.c.time < timestamp(moment)
        if kinds:
            chosen = chosen & RECORDS.c.kind.in_(list(kinds))
        fields = {"why": "age", "before": timestamp(moment)}
        return self._all(chosen, fields, by, frozenset(names))

    def _all(
        self,
        chosen: sa.ColumnElement[bool],
        about: Mapping[str, object],
        by: str,
        names: frozenset[str] = frozenset(),
    ) -> Erased:
        total = Erased()
        last = 0
        while True:
            with self.database.writing() as connection:
                if self.database.dialect == "sqlite":
                    connection.exec_driver_sql("PRAGMA secure_delete = ON")
                head_of(connection, hold=True)
                hold_cursors(connection)
                last, gone = _some(connection, chosen, names, last)
                if gone:
                    fields = {
                        **about,
                        "records": spans(gone),
                        "erased": sorted(names) or None,
                        "count": len(gone),
                    }
                    record = Record(ERASURE, fields, caller=by)
                    prepared = self.prepare(record, never=frozenset({"subject"}))
                    seal(connection, [prepared], self.clock())
                    total = Erased(total.records + len(gone), (*total.ids, record.id))
            if last < 0:
                break
        if total.records and self.database.path is not None:
            _flush(self.database.path)
        return total


def _some(
    connection: sa.Connection, chosen: sa.ColumnElement[bool], names: frozenset[str], last: int
) -> tuple[int, list[int]]:
    """Erase a batch of records after `last`. Return the last sequence examined (-1 at the end), and
    the sequences of the records that changed."""
    gone: list[int] = []
    while len(gone) < _AT_ONCE:
        query = (
            sa.select(RECORDS.c.sequence, RECORDS.c.payload, RECORDS.c.manifest)
            .where(chosen, RECORDS.c.sequence > last, RECORDS.c.payload != "")
            .where(RECORDS.c.kind.not_in(KEPT))
            .order_by(RECORDS.c.sequence)
            .limit(_PORTION)
        )
        found = connection.execute(query).all()
        if not found:
            return -1, gone
        changes = list(_changes(found, names))
        if changes:
            whole = not names or WHO in names
            values: dict[str, Any] = {
                column: sa.bindparam(f"new_{column}") for column in ("payload", "manifest")
            }
            cleared: dict[str, Any] = {"caller": None, "tag": None} if whole else {}
            changed = sa.update(RECORDS).where(RECORDS.c.sequence == sa.bindparam("at"))
            connection.execute(changed.values(**values, **cleared), changes)
            _unindex(connection, [change["at"] for change in changes], names)
        gone += [change["at"] for change in changes]
        last = found[-1].sequence
    return last, gone


def _unindex(connection: sa.Connection, gone: list[int], names: frozenset[str]) -> None:
    """Erase the same content from the index of decisions. Counts are kept."""
    values: dict[str, Any] = {
        column: empty for field, column, empty in _INDEXED if not names or field in names
    }
    if values:
        chosen = sa.update(DECISIONS).where(DECISIONS.c.sequence.in_(gone))
        connection.execute(chosen.values(**values))
    if not names or names & _SOURCES:
        connection.execute(sa.delete(USES).where(USES.c.sequence.in_(gone)))


def _changes(found: Any, names: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The new payload and manifest of each row that changes."""
    for sequence, payload, stated in found:
        there = list(lines(payload))
        if names and not names & {line.name for line in there}:
            continue
        left = without_fields(payload, names or {line.name for line in there})
        yield {"at": sequence, "new_payload": left, "new_manifest": stated or manifest(payload)}


def _flush(path: Path) -> None:
    """Truncate the write-ahead log, which still contains the overwritten bytes. If a reader blocks
    it, SQLite truncates at its next checkpoint."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=1)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
