"""How often decisions used and cited each document, counted from the records."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.access.scopes import readable_scopes
from suffice.access.visibility import Reader
from suffice.log.tables import DECISIONS, SOURCES, USES
from suffice.sql.functions import number_in
from suffice.sql.toolkit import ColumnElement, Connection, Select, case, func, select


@dataclass(frozen=True, slots=True)
class Citations:
    """How many decisions had a document in their evidence, how many answers cite it, and when each
    last happened; empty if never."""

    used: int = 0
    cited: int = 0
    last_used: str = ""
    last_cited: str = ""

    def __add__(self, other: Citations) -> Citations:
        return Citations(
            self.used + other.used,
            self.cited + other.cited,
            max(self.last_used, other.last_used),
            max(self.last_cited, other.last_cited),
        )


def citations(
    connection: Connection, collection: str, documents: Collection[str], reader: Reader | None
) -> dict[str, dict[str, Citations]]:
    """The citations by document and version. Citations from a time when the reader's rights would
    not have covered the document do not count, and neither do those by decisions that the reader
    may not know of."""
    table = SOURCES.c
    of_them = (table.collection == collection, table.document.in_(list(documents)))
    asked = select(SOURCES).where(*of_them)
    if not _knows_all(connection, reader):
        asked = _counted(of_them, readable_scopes(connection, reader) or frozenset())
    found: dict[str, dict[str, Citations]] = {}
    for row in connection.execute(asked):
        if reader is not None and not reader.may_use(row.collection, json.loads(row.access)):
            continue
        versions = found.setdefault(row.document, {})
        one = Citations(row.used, row.cited, row.last_used, row.last_cited)
        versions[row.version] = versions.get(row.version, Citations()) + one
    return found


def _knows_all(connection: Connection, reader: Reader | None) -> bool:
    """Whether the reader may know of every decision, so that the stored sums are right for it."""
    readable = readable_scopes(connection, reader)
    others = select(DECISIONS.c.sequence).limit(1)
    if readable is None:
        return True
    return connection.execute(others.where(~number_in(DECISIONS.c.scope, readable))).first() is None


def _counted(of_them: Sequence[ColumnElement[bool]], scopes: frozenset[int]) -> Select[Any]:
    """The sums over the decisions with these scopes, in the columns of the stored sums."""
    table, used, made = SOURCES.c, USES.c, DECISIONS.c
    last_cited = func.coalesce(func.max(case((used.cited == 1, made.time))), "")
    return (
        select(
            table.id,
            table.collection,
            table.document,
            table.version,
            table.access,
            func.count().label("used"),
            func.sum(used.cited).label("cited"),
            func.max(made.time).label("last_used"),
            last_cited.label("last_cited"),
        )
        .join_from(SOURCES, USES, used.source == table.id)
        .join(DECISIONS, made.sequence == used.sequence)
        .where(*of_them, number_in(made.scope, scopes))
        .group_by(table.id, table.collection, table.document, table.version, table.access)
    )


def of_document(versions: dict[str, Citations]) -> Citations:
    """The citations of all versions of a document."""
    total = Citations()
    for one in versions.values():
        total = total + one
    return total
