"""Passages that reviewers marked as wrong or stale, for the people who maintain the documents."""

from __future__ import annotations

from suffice.access.visibility import Reader
from suffice.log.entry import entry_of
from suffice.log.tables import RECORDS
from suffice.review.actions import MARK, Mark
from suffice.review.judged import Marked, marked
from suffice.sql.toolkit import Connection, select


def marked_passages(
    connection: Connection,
    reader: Reader | None = None,
    *,
    collection: str = "",
    document: str = "",
) -> list[Marked]:
    """The passages whose last mark says that they are wrong or stale, newest mark first. A passage
    belongs to one version, so a new version of the document starts without marks. With a reader,
    only those that it may read."""
    asked = select(RECORDS).where(RECORDS.c.kind == MARK).order_by(RECORDS.c.sequence)
    last: dict[tuple[str, str], Marked] = {}
    for entry in map(entry_of, connection.execute(asked)):
        if entry.payload:  # empty: erased
            one = marked(entry)
            last.pop((one.collection, one.passage), None)
            last[one.collection, one.passage] = one
    return [
        one
        for one in reversed(last.values())
        if one.mark is not Mark.NONE
        and (not collection or one.collection == collection)
        and (not document or one.document == document)
        and (reader is None or reader.may_use(one.collection, one.access))
    ]
