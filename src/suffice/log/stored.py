"""Records as the store holds them: by id, number or filter, and those about another record."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from suffice.errors import StoreError
from suffice.log.decision import GATE, VERDICT, record_missing, subject_of
from suffice.log.record import Entry
from suffice.log.tables import RECORDS
from suffice.sql import sa
from suffice.text.storable import is_storable

_PORTION = 200
_DIGITS = 18
"""Maximum number of digits of a sequence number."""
_AFTER = "/"
"""The character after the full stop: ids that start with `ID.` lie between `ID.` and `ID/`."""
# Built once: building a statement takes longer than running it.
_ABOUT = (
    sa.select(RECORDS)
    .where(RECORDS.c.id > sa.bindparam("after"), RECORDS.c.id < sa.bindparam("before"))
    .order_by(RECORDS.c.sequence)
)


def entry_of(row: sa.Row[Any]) -> Entry:
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


def find(connection: sa.Connection, name: str) -> Entry:
    """Find a record by its id or number."""
    number = name.isdecimal() and len(name) <= _DIGITS
    column = RECORDS.c.sequence if number else RECORDS.c.id
    query = sa.select(RECORDS).where(column == (int(name) if number else name))
    row = connection.execute(query).first()
    if row is None:
        raise StoreError(
            f"There is no record '{name}' in the log.",
            remedy="To list records, run: suffice audit show",
        )
    return entry_of(row)


@dataclass(frozen=True, slots=True)
class RecordFilter:
    """A selection of records by kind, caller, time (`since` inclusive, `until` exclusive, in the
    log's format) and number (`first` inclusive, `before` exclusive)."""

    kind: str = ""
    caller: str = ""
    since: str = ""
    until: str = ""
    first: int | None = None
    before: int | None = None

    def narrowed(self, query: sa.Select[Any]) -> sa.Select[Any]:
        table = RECORDS.c
        for wanted, condition in (
            (self.kind, table.kind == self.kind),
            (self.caller, table.caller == self.caller),
            (self.since, table.time >= self.since),
            (self.until, table.time < self.until),
        ):
            query = query.where(condition) if wanted else query
        if self.first is not None:
            query = query.where(table.sequence >= self.first)
        return query if self.before is None else query.where(table.sequence < self.before)


def page(connection: sa.Connection, choice: RecordFilter, most: int) -> list[Entry]:
    """The newest `most` selected records, newest first. For the next page, set `before` to the
    number of the last one."""
    query = choice.narrowed(sa.select(RECORDS)).order_by(RECORDS.c.sequence.desc()).limit(most)
    return [entry_of(row) for row in connection.execute(query)]


def entries(connection: sa.Connection, choice: RecordFilter) -> Iterator[Entry]:
    """All selected records, oldest first."""
    last = choice.first - 1 if choice.first is not None else 0
    while True:
        query = choice.narrowed(sa.select(RECORDS)).where(RECORDS.c.sequence > last)
        rows = connection.execute(query.order_by(RECORDS.c.sequence).limit(_PORTION)).all()
        if not rows:
            return
        for row in rows:
            yield entry_of(row)
        last = rows[-1].sequence


def find_decision(connection: sa.Connection, name: str) -> Entry:
    """Find the record of a decision by its id, its number, or the id of a record about it."""
    if not is_storable(name):
        raise record_missing(name)
    found = find(connection, subject_of(name))
    if found.kind not in (VERDICT, GATE) and "." in found.id:
        found = find(connection, subject_of(found.id))
    if found.kind not in (VERDICT, GATE):
        raise StoreError(
            f"Record {found.id} has the kind '{found.kind}' and contains no decision.",
            remedy=f"Use a record of the kind '{VERDICT}' or '{GATE}'.",
        )
    return found


def all_about(connection: sa.Connection, id: str) -> list[Entry]:
    """All records about a record, in order."""
    rows = connection.execute(_ABOUT, {"after": f"{id}.", "before": f"{id}{_AFTER}"})
    return [entry_of(row) for row in rows]


def subject_in(table: sa.FromClause, suffix: str) -> sa.ColumnElement[Any]:
    """SQL for the id of the record that a row is about: its own id without the suffix."""
    return sa.func.substr(table.c.id, 1, sa.func.length(table.c.id) - len(suffix))


def has_record_about(
    subject: sa.ColumnElement[Any], kinds: Collection[str], but: str = ""
) -> sa.ColumnElement[bool]:
    """SQL condition: a record of one of the kinds concerns `subject` in a role other than `but`."""
    other = RECORDS.alias()
    within = sa.and_(other.c.id > subject + ".", other.c.id < subject + _AFTER)
    # concat("") keeps the database from using the index on kinds: few records are about a subject,
    # but many have the kind.
    chosen = sa.and_(within, other.c.kind.concat("").in_(list(kinds)))
    if but:
        chosen = sa.and_(chosen, other.c.id.not_like(f"%.{but}.%"))
    return sa.exists(sa.select(other.c.sequence).where(chosen).correlate_except(other))
