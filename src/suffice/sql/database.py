"""The database: opens, migrates, runs read and write transactions, and translates errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Table, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from suffice.errors import StoreBusy, StoreMissing
from suffice.sql.backend import Backend, Dialect, Engines, address, migrate
from suffice.sql.postgresql import Postgresql
from suffice.sql.sqlite import Sqlite


class Database:
    """A SQLite file or PostgreSQL database with the current schema, opened by `Database.open`.
    It is thread-safe."""

    def __init__(self, backend: Backend, engines: Engines) -> None:
        self._backend = backend
        self._engines = engines

    @classmethod
    def open(cls, where: str | Path, *, create: bool = False, wait: float = 60.0) -> Database:
        """Open the database at a path or URL and migrate it if needed. `create` creates missing
        tables; `wait` is the lock timeout in seconds."""
        place = address(where)
        backend: Backend = (
            Sqlite(place, wait) if isinstance(place, Path) else Postgresql(place, wait)
        )
        database = cls(backend, backend.engines(create))
        try:
            database._ready(create)
        except BaseException:
            database.close()
            raise
        return database

    @property
    def where(self) -> str:
        """Path or URL for messages, with passwords masked."""
        return self._backend.where

    @property
    def dialect(self) -> Dialect:
        return self._backend.dialect

    @property
    def path(self) -> Path | None:
        """The database file; `None` for a server."""
        return self._backend.path

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A read-only connection with a consistent snapshot, unaffected by concurrent writes."""
        with self._translated(), self._engines.reader.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A write transaction; it is atomic, and durable once the block has ended."""
        with self._translated(), self._engines.writer.begin() as connection:
            yield connection

    @contextmanager
    def alone(self, wait: float) -> Iterator[None]:
        """Hold the write lock for work that spans several transactions. Other processes wait up to
        `wait` seconds, then fail with `StoreBusy`. Single reads and writes do not need it."""
        with self._translated(), self._backend.alone(self._engines, wait):
            yield

    def close(self) -> None:
        self._engines.reader.dispose()
        self._engines.writer.dispose()

    def _ready(self, create: bool) -> None:
        with self.reading() as connection:
            known = self._backend.schema(connection)
        if not known and not create:
            raise StoreMissing(
                f"There is no store in {self.where}.",
                remedy="To create it, run: suffice index FOLDER",
            )
        with self._translated():
            migrate(self._backend, self._engines.writer, known)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Translate errors of the driver into errors with a remedy."""
        try:
            yield
        except DBAPIError as problem:
            raise self._backend.explain(problem.orig or problem) from problem
        except PoolTimeout as problem:
            raise StoreBusy(
                f"All connections to {self.where} are in use.",
                remedy="Try again later, or increase `store_wait_seconds` in the settings.",
            ) from problem


def claim_due(
    database: Database, table: Table, conditions: Sequence[ColumnElement[bool]], until: float
) -> Row[Any] | None:
    """Claim the row that meets the conditions and has been due the longest: it is due again at
    `until`, so that another process can take it over if this one dies."""
    first = select(table).where(*conditions).order_by(table.c.due, table.c.id).limit(1)
    with database.reading() as connection:  # most of the time there is none, and nothing waits
        if connection.execute(first).first() is None:
            return None
    with database.writing() as connection:
        row = connection.execute(first.with_for_update(skip_locked=True)).first()
        if row is not None:
            claimed = update(table).where(table.c.id == row.id)
            connection.execute(claimed.values(due=until))
        return row
