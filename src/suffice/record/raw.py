"""The rows of the log as bytes, quickly, in their order, from one state of the database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection

_TEXTS = ("id", "time", "clock", "kind", "root", "seal", "link", "caller", "tag", "manifest")
_COLUMNS = ("sequence", *_TEXTS, "payload")
_FIRST = -(2**63)
_ROWS, _FEW = 2_000, 20
_CHARACTERS = 64_000_000


class Row(NamedTuple):
    """One record as it stands in the table. A column may be `None` that nobody left empty."""

    sequence: int
    id: bytes
    time: bytes
    clock: bytes
    kind: bytes
    root: bytes
    seal: bytes
    link: bytes
    caller: bytes | None
    tag: bytes | None
    manifest: bytes | None
    payload: bytes


def rows(connection: Connection) -> Iterator[list[tuple[Any, ...]]]:
    """All rows in the order of `Row`, in portions."""
    return _sqlite(connection) if connection.dialect.name == "sqlite" else _server(connection)


def _sqlite(connection: Connection) -> Iterator[list[tuple[Any, ...]]]:
    """Streamed. Read as bytes: what somebody wrote there need not be text."""
    columns = ", ".join(f"CAST({name} AS BLOB)" for name in _COLUMNS[1:])
    result = connection.exec_driver_sql(f"SELECT sequence, {columns} FROM records ORDER BY 1")
    cursor = result.cursor
    assert cursor is not None
    while found := cursor.fetchmany(200):
        yield list(found)
    result.close()


def _server(connection: Connection) -> Iterator[list[tuple[Any, ...]]]:
    """In portions by sequence; where texts are large, in small ones."""
    columns = ", ".join(_COLUMNS)
    chosen = "FROM records WHERE sequence > %s ORDER BY sequence LIMIT %s"
    size = f"SELECT sum(octet_length(payload)) FROM (SELECT payload {chosen}) AS portion"
    last = _FIRST
    while True:
        total = connection.exec_driver_sql(size, (last, _ROWS)).scalar() or 0
        most = _ROWS if total <= _CHARACTERS else _FEW
        result = connection.exec_driver_sql(f"SELECT {columns} {chosen}", (last, most))
        found = result.cursor.fetchall() if result.cursor is not None else []
        result.close()
        if not found:
            return
        last = found[-1][0]
        yield [(row[0], *(v.encode() if v is not None else None for v in row[1:])) for row in found]
