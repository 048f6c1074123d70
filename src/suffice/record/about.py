"""Records about other records; their ids start with the id of the record they concern.

Examples: `ID.queue`, `ID.gap`, `ID.feedback.…`, `ID.release.…`. The chain covers ids, so attaching
one of them to another record is detected. All records about a record are found by its id.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from suffice.errors import StoreError
from suffice.log.entry import Entry, entry_of, find
from suffice.log.record import Record, new_id
from suffice.log.tables import RECORDS
from suffice.record.decision import GATE, VERDICT
from suffice.sql.storable import is_storable
from suffice.sql.toolkit import (
    ColumnElement,
    Connection,
    FromClause,
    and_,
    bindparam,
    exists,
    func,
    select,
)

QUEUE = "queue"
_AFTER = "/"
"""The character after the full stop: ids that start with `ID.` lie between `ID.` and `ID/`."""
# Built once: building a statement takes longer than running it.
_ABOUT = (
    select(RECORDS)
    .where(RECORDS.c.id > bindparam("after"), RECORDS.c.id < bindparam("before"))
    .order_by(RECORDS.c.sequence)
)


def about(
    of: Record | Entry,
    kind: str,
    fields: Mapping[str, object],
    *,
    by: str = "",
    role: str = "",
) -> Record:
    """A record about another record, made by `by`. `role` defaults to the kind. Its tag
    is the subject of the other record, so both are erased together."""
    name = f"{of.id}.{role or kind}.{new_id()}"
    return Record(kind, {"record": of.id, **fields}, by, of.tag or of.caller, name)


def subject_of(id: str) -> str:
    """The id of the record that a record is about, or its own id if it is not about another."""
    return id.partition(".")[0]


def role_of(id: str) -> str:
    """The role of a record that is about another record, for example "queue"."""
    return f"{id}..".split(".")[1]


def record_missing(name: str) -> StoreError:
    return StoreError(
        f"There is no record '{name}' in the log.",
        remedy="To list records, run: suffice audit show",
    )


def find_decision(connection: Connection, name: str) -> Entry:
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


def all_about(connection: Connection, id: str) -> list[Entry]:
    """All records about a record, in order."""
    rows = connection.execute(_ABOUT, {"after": f"{id}.", "before": f"{id}{_AFTER}"})
    return [entry_of(row) for row in rows]


def subject_in(table: FromClause, suffix: str) -> ColumnElement[Any]:
    """SQL for the id of the record that a row is about: its own id without the suffix."""
    return func.substr(table.c.id, 1, func.length(table.c.id) - len(suffix))


def has_record_about(
    subject: ColumnElement[Any], kinds: Collection[str], but: str = ""
) -> ColumnElement[bool]:
    """SQL condition: a record of one of the kinds concerns `subject` in a role other than `but`."""
    other = RECORDS.alias()
    within = and_(other.c.id > subject + ".", other.c.id < subject + _AFTER)
    # concat("") keeps the database from using the index on kinds: few records are about a subject,
    # but many have the kind.
    chosen = and_(within, other.c.kind.concat("").in_(list(kinds)))
    if but:
        chosen = and_(chosen, other.c.id.not_like(f"%.{but}.%"))
    return exists(select(other.c.sequence).where(chosen).correlate_except(other))
