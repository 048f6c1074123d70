"""Erasing what records say: by whom or what they are about, or by their age.

The chain stays whole: it holds salted commitments, and the salts go with the payload. What was
erased is a record itself, without which a payload that is gone is a fault.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, or_, select, update

from suffice.log.erasures import KIND, spans
from suffice.log.moment import Clock, written
from suffice.log.payload import lines, manifest, without
from suffice.log.prepare import Prepare
from suffice.log.record import WHO, Record
from suffice.log.seal import head_of, seal
from suffice.log.tables import RECORDS
from suffice.sql.database import Database

KEPT = (KIND, "setup")
"""Kinds that hold nobody's words and that others lean on: they are never erased."""
_PORTION = 200
_AT_ONCE = 5_000
"""Records erased in one transaction: others append between two of them."""


@dataclass(frozen=True, slots=True)
class Erased:
    """From how many records something was erased, and the ids of the records that say so."""

    records: int = 0
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Eraser:
    """Erases, and in the same transaction records that it did."""

    database: Database
    prepare: Prepare
    clock: Clock

    def subject(self, name: str, *, reason: str = "", by: str = "") -> Erased:
        """All that records say whose caller or tag this is. Its name is not stored in the record of
        the erasure, but committed to: it can be shown later that this is who it was about."""
        chosen = or_(RECORDS.c.caller == name, RECORDS.c.tag == name)
        return self._all(chosen, {"why": "subject", "subject": name, "reason": reason}, by)

    def before(
        self,
        moment: datetime,
        *,
        names: Collection[str] = (),
        kinds: Collection[str] = (),
        by: str = "",
    ) -> Erased:
        """What records say that were sealed before a moment, or only some fields of it."""
        chosen: ColumnElement[bool] = RECORDS.c.time < written(moment)
        if kinds:
            chosen = chosen & RECORDS.c.kind.in_(list(kinds))
        said = {"why": "age", "before": written(moment)}
        return self._all(chosen, said, by, frozenset(names))

    def _all(
        self,
        chosen: ColumnElement[bool],
        said: Mapping[str, object],
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
                last, gone = _some(connection, chosen, names, last)
                if gone:
                    fields = {
                        **said,
                        "records": spans(gone),
                        "erased": sorted(names) or None,
                        "count": len(gone),
                    }
                    record = Record(KIND, fields, caller=by)
                    prepared = self.prepare(record, never=frozenset({"subject"}))
                    seal(connection, [prepared], self.clock())
                    total = Erased(total.records + len(gone), (*total.ids, record.id))
            if last < 0:
                break
        if total.records and self.database.path is not None:
            _flush(self.database.path)
        return total


def _some(
    connection: Connection, chosen: ColumnElement[bool], names: frozenset[str], last: int
) -> tuple[int, list[int]]:
    """Erases some records behind a sequence: the last one looked at (-1: there are no more), and
    the sequences of those that said something."""
    gone: list[int] = []
    while len(gone) < _AT_ONCE:
        asked = (
            select(RECORDS.c.sequence, RECORDS.c.payload, RECORDS.c.manifest)
            .where(chosen, RECORDS.c.sequence > last, RECORDS.c.payload != "")
            .where(RECORDS.c.kind.not_in(KEPT))
            .order_by(RECORDS.c.sequence)
            .limit(_PORTION)
        )
        found = connection.execute(asked).all()
        if not found:
            return -1, gone
        changes = list(_changes(found, names))
        if changes:
            whole = not names or WHO in names
            values: dict[str, Any] = {
                column: bindparam(f"new_{column}") for column in ("payload", "manifest")
            }
            nobody: dict[str, Any] = {"caller": None, "tag": None} if whole else {}
            changed = update(RECORDS).where(RECORDS.c.sequence == bindparam("at"))
            connection.execute(changed.values(**values, **nobody), changes)
        gone += [change["at"] for change in changes]
        last = found[-1].sequence
    return last, gone


def _changes(found: Any, names: frozenset[str]) -> Iterator[dict[str, Any]]:
    """What becomes of each row that has something to lose."""
    for sequence, payload, stated in found:
        there = list(lines(payload))
        if names and not names & {line.name for line in there}:
            continue
        left = without(payload, names or {line.name for line in there})
        yield {"at": sequence, "new_payload": left, "new_manifest": stated or manifest(payload)}


def _flush(path: Path) -> None:
    """What was overwritten in the file is still in the write-ahead log until that is emptied. Where
    somebody is reading just now, the next checkpoint of SQLite's does it."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=1)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
