"""Followers of the log: each keeps something up to date that follows from the records.

A follower reads some new records and computes what they change, without a lock. It then writes the
change and its cursor in one transaction, which locks the cursor. If the cursor has moved since it
was read, another process was faster and nothing is written, so each record counts exactly once. An
erasure locks every cursor; a change that was computed before an erasure is not written either, so
nothing that was erased is written again.

All records wait for a write transaction, so a follower reads no payloads in one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from suffice.log.record import Entry
from suffice.log.stored import entry_of
from suffice.log.tables import FOLLOWERS, RECORDS
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.sql.statements import upsert

ERASURE = "erasure"
"""The kind of the records of erasures."""
Change = TypeVar("Change")
_LAST = sa.select(sa.func.max(RECORDS.c.sequence))
_LAST_ERASURE = _LAST.where(RECORDS.c.kind == ERASURE)


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a follower has read: the number of its last record, and what else it knows there."""

    sequence: int = 0
    state: str = ""


class Follower(ABC, Generic[Change]):
    """Follows the records of some kinds (none: of all). It reads at most `portion` consecutive
    records at a time. Safe across threads and processes."""

    database: Database
    name: str
    """The key of its cursor."""
    kinds: Collection[str] = ()
    portion: int = 400

    @abstractmethod
    def read(
        self, connection: sa.Connection, cursor: Cursor, entries: Sequence[Entry]
    ) -> Change | None:
        """Compute what new records change, from one snapshot of the log. `None`: nothing."""

    @abstractmethod
    def apply(self, connection: sa.Connection, change: Change) -> None:
        """Write a change, in the transaction that moves the cursor."""

    def announce(self, change: Change) -> None:
        """Called before a change is written, outside any transaction; after a crash or if another
        process is faster, it is called again."""

    def state_after(self, change: Change) -> str:
        """The state to store with the cursor."""
        return ""

    def update(self) -> bool:
        """Read some new records; return whether there may be more."""
        with self.database.reading() as connection:
            cursor = read_cursor(connection, self.name)
            erasure = connection.scalar(_LAST_ERASURE)
            entries, more = self._new(connection, cursor.sequence)
            change = self.read(connection, cursor, entries)
        if change is None:
            return False
        self.announce(change)
        reached = entries[-1].sequence if entries else cursor.sequence
        with self.database.writing() as connection:
            if read_cursor(connection, self.name, hold=True) != cursor:
                return True  # another process was first
            if connection.scalar(_LAST_ERASURE) != erasure:
                return True  # something was erased since it was read
            self.apply(connection, change)
            write_cursor(connection, self.name, Cursor(reached, self.state_after(change)))
        return more

    def catch_up(self) -> None:
        """Read all records that have not been read yet."""
        while self.update():
            pass

    def behind(self) -> int:
        """The number of records, of any kind, after the last one that was read."""
        with self.database.reading() as connection:
            last = connection.scalar(_LAST) or 0
            return max(last - read_cursor(connection, self.name).sequence, 0)

    def _new(self, connection: sa.Connection, after: int) -> tuple[list[Entry], bool]:
        """The next records of its kinds, and whether there are records after this portion. Records
        of other kinds are skipped by an index, so that a long log does not slow this down."""
        first = after + 1
        if self.kinds:
            found = connection.scalar(_next_of(tuple(self.kinds)), {"after": after})
            if found is None:
                return [], False
            first = int(found)
        end = first + self.portion - 1
        table = RECORDS.c
        query = sa.select(RECORDS).where(table.sequence >= first, table.sequence <= end)
        if self.kinds:
            query = query.where(table.kind.in_(self.kinds))
        entries = [entry_of(row) for row in connection.execute(query.order_by(table.sequence))]
        return entries, (connection.scalar(_LAST) or 0) > end


@cache
def _next_of(kinds: tuple[str, ...]) -> sa.Select[Any]:
    """The query for the first record of these kinds after a number: one seek for each kind."""
    after = RECORDS.c.sequence > sa.bindparam("after")
    first = sa.func.min(RECORDS.c.sequence).label("first")
    each = sa.union_all(*(sa.select(first).where(RECORDS.c.kind == kind, after) for kind in kinds))
    return sa.select(sa.func.min(each.subquery().c.first))


def read_cursor(connection: sa.Connection, name: str, *, hold: bool = False) -> Cursor:
    """The cursor of a follower; `hold` locks it until the transaction ends."""
    query = sa.select(FOLLOWERS.c.sequence, FOLLOWERS.c.state).where(FOLLOWERS.c.name == name)
    row = connection.execute(query.with_for_update() if hold else query).one()
    return Cursor(row.sequence, row.state)


def write_cursor(connection: sa.Connection, name: str, cursor: Cursor) -> None:
    moved = sa.update(FOLLOWERS).where(FOLLOWERS.c.name == name)
    connection.execute(moved.values(sequence=cursor.sequence, state=cursor.state))


def move_cursor(database: Database, name: str, before: Cursor, after: Cursor) -> bool:
    """Move a cursor, unless another process has moved it since it was read."""
    with database.writing() as connection:
        if read_cursor(connection, name, hold=True) != before:
            return False
        write_cursor(connection, name, after)
        return True


def add_cursors(database: Database, names: Collection[str]) -> None:
    """Let new followers begin with the next record."""
    with database.reading() as connection:
        known = set(
            connection.scalars(sa.select(FOLLOWERS.c.name).where(FOLLOWERS.c.name.in_(names)))
        )
    if known >= set(names):
        return
    with database.writing() as connection:
        last = connection.scalar(_LAST) or 0
        rows = [{"name": name, "sequence": last, "state": ""} for name in sorted(names)]
        connection.execute(upsert(connection, FOLLOWERS).on_conflict_do_nothing(), rows)


def hold_cursors(connection: sa.Connection) -> None:
    """Let no follower write until the transaction ends."""
    connection.execute(sa.select(FOLLOWERS.c.name).order_by(FOLLOWERS.c.name).with_for_update())
