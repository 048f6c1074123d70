"""Sealed records, and access to them by id, by number or page by page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suffice.errors import StoreDamaged, StoreError
from suffice.log.payload import commitments, lines
from suffice.log.record import WHO
from suffice.log.tables import RECORDS
from suffice.sql.toolkit import Connection, Row, Select, select

_PORTION = 200
_DIGITS = 18
"""Maximum number of digits of a sequence number."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A sealed record."""

    sequence: int
    id: str
    time: str
    clock: str
    kind: str
    caller: str
    tag: str
    root: str
    seal: str
    link: str
    payload: str
    manifest: str | None = None

    def fields(self) -> dict[str, Any]:
        """The stored fields by name."""
        try:
            found = (line for line in lines(self.payload) if line.stored and line.name != WHO)
            return {line.name: line.read() for line in found}
        except ValueError as problem:
            raise StoreDamaged(
                f"The content of record {self.sequence} cannot be read: {problem}.",
                remedy="Run: suffice audit verify",
            ) from problem

    @property
    def not_stored(self) -> tuple[str, ...]:
        """Fields that were omitted because of the settings."""
        return tuple(line.name for line in lines(self.payload) if not line.stored)

    @property
    def erased(self) -> tuple[str, ...]:
        """Fields that were stored and later erased."""
        there = {line.key for line in lines(self.payload)}
        known = commitments(self.manifest or "")
        return tuple(key.rstrip("!") for key in known if key not in there)


def entry_of(row: Row[Any]) -> Entry:
    return Entry(
        row.sequence,
        row.id,
        row.time,
        row.clock,
        row.kind,
        row.caller or "",
        row.tag or "",
        row.root,
        row.seal,
        row.link,
        row.payload,
        row.manifest,
    )


def find(connection: Connection, name: str) -> Entry:
    """Find a record by its id or number."""
    number = name.isdecimal() and len(name) <= _DIGITS
    column = RECORDS.c.sequence if number else RECORDS.c.id
    asked = select(RECORDS).where(column == (int(name) if number else name))
    row = connection.execute(asked).first()
    if row is None:
        raise StoreError(
            f"There is no record '{name}' in the log.",
            remedy="To list records, run: suffice audit show",
        )
    return entry_of(row)


@dataclass(frozen=True, slots=True)
class Choice:
    """A selection of records by kind, caller, time (`since` inclusive, `until` exclusive, in the
    log's format) and number (`first` inclusive, `before` exclusive)."""

    kind: str = ""
    caller: str = ""
    since: str = ""
    until: str = ""
    first: int | None = None
    before: int | None = None

    def narrowed(self, asked: Select[Any]) -> Select[Any]:
        table = RECORDS.c
        for wanted, condition in (
            (self.kind, table.kind == self.kind),
            (self.caller, table.caller == self.caller),
            (self.since, table.time >= self.since),
            (self.until, table.time < self.until),
        ):
            asked = asked.where(condition) if wanted else asked
        if self.first is not None:
            asked = asked.where(table.sequence >= self.first)
        return asked if self.before is None else asked.where(table.sequence < self.before)


def page(connection: Connection, choice: Choice, most: int) -> list[Entry]:
    """The newest `most` selected records, newest first. For the next page, set `before` to the
    number of the last one."""
    asked = choice.narrowed(select(RECORDS)).order_by(RECORDS.c.sequence.desc()).limit(most)
    return [entry_of(row) for row in connection.execute(asked)]


def entries(connection: Connection, choice: Choice) -> Iterator[Entry]:
    """All selected records, oldest first."""
    last = choice.first - 1 if choice.first is not None else 0
    while True:
        asked = choice.narrowed(select(RECORDS)).where(RECORDS.c.sequence > last)
        found = connection.execute(asked.order_by(RECORDS.c.sequence).limit(_PORTION)).all()
        if not found:
            return
        for row in found:
            yield entry_of(row)
        last = found[-1].sequence
