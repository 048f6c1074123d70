"""Records about records: their ids begin with the id of the record they concern.

`ID.queue`, `ID.gap`, `ID.feedback.…`, `ID.release.…`: the chain holds ids, so nobody can move a
decision to another record unnoticed, and all that concerns one is found by its id alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, and_, exists, func, select

from suffice.errors import StoreError
from suffice.log.entry import Entry, entry_of, find
from suffice.log.record import Record, new_id
from suffice.log.tables import RECORDS
from suffice.record.decision import GATE, VERDICT
from suffice.sql.storable import is_storable

QUEUE = "queue"
_AFTER = "/"
"""Sorts right behind the full stop: what begins with `ID.` lies between `ID.` and `ID/`."""


def about(
    of: Record | Entry,
    kind: str,
    fields: Mapping[str, object],
    *,
    by: str = "",
    role: str = "",
) -> Record:
    """A record about another one, by somebody; `role` is what it is to it, where not its kind. It
    goes when its subject is erased."""
    name = f"{of.id}.{role or kind}.{new_id()}"
    return Record(kind, {"record": of.id, **fields}, by, of.tag or of.caller, name)


def subject_of(id: str) -> str:
    """The id of the record that a record is about; its own, where it is about none."""
    return id.partition(".")[0]


def role_of(id: str) -> str:
    """What a record is to the one it is about."""
    return f"{id}..".split(".")[1]


def missing(name: str) -> StoreError:
    return StoreError(f"There is no record '{name}' in the log.", remedy="Run: suffice audit show")


def decided(connection: Connection, name: str) -> Entry:
    """The record of a decision, by its id, its number, or the id of a record about it."""
    if not is_storable(name):
        raise missing(name)
    found = find(connection, subject_of(name))
    if found.kind not in (VERDICT, GATE) and "." in found.id:
        found = find(connection, subject_of(found.id))
    if found.kind not in (VERDICT, GATE):
        raise StoreError(
            f"Record {found.id} is of the kind '{found.kind}': nothing was decided in it.",
            remedy=f"Name a record of the kind '{VERDICT}' or '{GATE}'.",
        )
    return found


def all_about(connection: Connection, id: str) -> list[Entry]:
    """What concerns a record, in the order in which it came."""
    column = RECORDS.c.id
    chosen = select(RECORDS).where(column > f"{id}.", column < f"{id}{_AFTER}")
    return [entry_of(row) for row in connection.execute(chosen.order_by(RECORDS.c.sequence))]


def subject_in(table: FromClause, suffix: str) -> ColumnElement[Any]:
    """In SQL: the id of the record that a row of a table is about, by the end of its own."""
    return func.substr(table.c.id, 1, func.length(table.c.id) - len(suffix))


def concerned(
    subject: ColumnElement[Any], kinds: Collection[str], but: str = ""
) -> ColumnElement[bool]:
    """In SQL: whether a record of some kinds concerns one, other than in the role of `but`."""
    other = RECORDS.alias()
    within = and_(other.c.id > subject + ".", other.c.id < subject + _AFTER)
    # Few records concern one, and many are of a kind: with "||" no index of kinds is taken for it.
    chosen = and_(within, other.c.kind.concat("").in_(list(kinds)))
    if but:
        chosen = and_(chosen, other.c.id.not_like(f"%.{but}.%"))
    return exists(select(other.c.sequence).where(chosen).correlate_except(other))
