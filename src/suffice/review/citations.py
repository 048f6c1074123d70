"""How often decisions used and cited each document, counted from the records."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass

from suffice.access.visibility import Reader
from suffice.log.tables import SOURCES
from suffice.sql.toolkit import Connection, select


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
    not have covered the document do not count."""
    table = SOURCES.c
    asked = select(SOURCES).where(
        table.collection == collection, table.document.in_(list(documents))
    )
    found: dict[str, dict[str, Citations]] = {}
    for row in connection.execute(asked):
        if reader is not None and not reader.may_use(row.collection, json.loads(row.access)):
            continue
        versions = found.setdefault(row.document, {})
        one = Citations(row.used, row.cited, row.last_used, row.last_cited)
        versions[row.version] = versions.get(row.version, Citations()) + one
    return found


def of_document(versions: dict[str, Citations]) -> Citations:
    """The citations of all versions of a document."""
    total = Citations()
    for one in versions.values():
        total = total + one
    return total
