"""Fast sequential access to the rows of the log, from one snapshot of the database.

Columns are read as bytes, because manipulated rows may contain invalid text.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

from suffice.sql.toolkit import Connection

_HEAD = ("id", "time", "clock", "kind", "root", "seal")
_TEXTS = (*_HEAD, "link", "caller", "tag", "manifest", "payload")
_FIRST = -(2**63)
_ROWS, _FEW = 500, 10
_CHARACTERS = 32_000_000
_CACHED = 32
_MAPPED = 2**31

Glance = tuple[int, bytes, bytes, bytes | None, bytes | None, int, int, bytes]
"""The part of a row that verification needs: sequence; the columns covered by the link, one per
line; link; caller; tag; whether content was erased; whether the row records an erasure; payload.
In a manipulated row any column may be `None`."""


class Row(NamedTuple):
    """A complete row of the table."""

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

    @property
    def name(self) -> str:
        return self.id.decode("utf-8", "replace")


def row_batches(connection: Connection) -> Iterator[list[Glance]]:
    """All rows in order, in batches."""
    return _streamed(connection) if _is_sqlite(connection) else _portions(connection)


def row_span(connection: Connection, first: int, last: int) -> list[Glance]:
    """The rows from the first to the last number, in order."""
    asked = f"SELECT {_columns(connection)} FROM records WHERE sequence BETWEEN {int(first)} AND "
    found = connection.exec_driver_sql(f"{asked}{int(last)} ORDER BY sequence").all()
    return [(one[0], *map(_bytes, one[1:5]), one[5], one[6], _bytes(one[7])) for one in found]


def row(connection: Connection, sequence: int) -> Row:
    """One complete row; a required column that is NULL becomes empty."""
    columns = ", ".join(_as_bytes(connection, name) for name in _TEXTS)
    asked = f"SELECT {columns} FROM records WHERE sequence = {int(sequence)}"
    found = connection.exec_driver_sql(asked).one()
    allowed = ("caller", "tag", "manifest")
    pairs = zip(_TEXTS, found, strict=True)
    return Row(
        sequence,
        *(b"" if value is None and name not in allowed else _bytes(value) for name, value in pairs),
    )


def _is_sqlite(connection: Connection) -> bool:
    return connection.dialect.name == "sqlite"


def _as_bytes(connection: Connection, expression: str) -> str:
    return f"CAST({expression} AS BLOB)" if _is_sqlite(connection) else expression


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _columns(connection: Connection) -> str:
    line = "char(10)" if _is_sqlite(connection) else "chr(10)"
    texts = (f" || {line} || ".join(_HEAD), "link", "caller", "tag")
    flags = ("manifest IS NOT NULL", "kind = 'erasure'")
    read = (_as_bytes(connection, text) for text in texts)
    return ", ".join(("sequence", *read, *flags, _as_bytes(connection, "payload")))


def _streamed(connection: Connection) -> Iterator[list[Glance]]:
    """Read from SQLite, which returns rows one by one. Memory-mapping the file and batches that fit
    the CPU cache save a third of the time."""
    connection.exec_driver_sql(f"PRAGMA mmap_size = {_MAPPED}")
    asked = f"SELECT {_columns(connection)} FROM records ORDER BY sequence"
    result = connection.exec_driver_sql(asked)
    cursor = result.cursor
    assert cursor is not None
    try:
        while found := cursor.fetchmany(_CACHED):
            yield list(found)
    finally:
        result.close()
        connection.exec_driver_sql("PRAGMA mmap_size = 0")


def _portions(connection: Connection) -> Iterator[list[Glance]]:
    """Read from PostgreSQL, which returns a whole result at once, so batches are small if payloads
    are large. The server prepares the next batch while the current one is processed."""
    chosen = "FROM records WHERE sequence > %s ORDER BY sequence LIMIT %s"
    size = f"SELECT sum(octet_length(payload)) FROM (SELECT payload {chosen}) AS portion"
    asked = f"SELECT {_columns(connection)} {chosen}"
    driver: Any = connection.connection.driver_connection  # thread-safe, unlike SQLAlchemy's

    def fetch(last: int) -> list[Any]:
        with driver.cursor() as cursor:
            total = cursor.execute(size, (last, _ROWS)).fetchone()[0] or 0
            most = _ROWS if total <= _CHARACTERS else _FEW
            rows: list[Any] = cursor.execute(asked, (last, most)).fetchall()
            return rows

    connection.exec_driver_sql("SELECT 1")  # begin the transaction, report connection errors
    with ThreadPoolExecutor(1) as ahead:
        coming = ahead.submit(fetch, _FIRST)
        while found := _result(coming, connection):
            coming = ahead.submit(fetch, found[-1][0])
            yield [
                (row[0], *map(_bytes, row[1:5]), row[5], row[6], _bytes(row[7])) for row in found
            ]


def _result(coming: Future[list[Any]], connection: Connection) -> list[Any]:
    """The fetched rows. After a failure, use the connection once more, so that a lost connection
    raises the translated error."""
    try:
        return coming.result()
    except Exception:  # any failure in the fetching thread
        connection.exec_driver_sql("SELECT 1")
        raise
