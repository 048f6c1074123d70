"""The database: opened, checked, migrated; read and written in transactions; errors are ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from suffice.errors import StoreBusy, StoreMissing
from suffice.sql.address import address
from suffice.sql.backend import Backend, Dialect, Engines
from suffice.sql.migrate import migrate
from suffice.sql.postgresql import Postgresql
from suffice.sql.sqlite import Sqlite


class Database:
    """A SQLite file or a PostgreSQL database of the present schema. Safe to share between
    threads; made by `Database.open`."""

    def __init__(self, backend: Backend, engines: Engines) -> None:
        self._backend = backend
        self._engines = engines

    @classmethod
    def open(cls, where: str | Path, *, create: bool = False, wait: float = 60.0) -> Database:
        """The database at a path or URL, migrated where it is older; with `create`, its tables
        are made where there are none. Locks of others are waited for, `wait` seconds."""
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
        """The path or URL to show; a password is masked."""
        return self._backend.where

    @property
    def dialect(self) -> Dialect:
        return self._backend.dialect

    @property
    def path(self) -> Path | None:
        """The file, where it is one."""
        return self._backend.path

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the database, whatever others write meanwhile."""
        with self._translated(), self._engines.reader.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of it or nothing. When this returns, it is on the disk."""
        with self._translated(), self._engines.writer.begin() as connection:
            yield connection

    @contextmanager
    def alone(self, wait: float) -> Iterator[None]:
        """One process at a time, for work that takes many transactions; others wait, then say so.
        Reading and writing need no lock for themselves."""
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
                f"There is no store in {self.where}.", remedy="Run: suffice index FOLDER"
            )
        with self._translated():
            migrate(self._backend, self._engines.writer, known)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """The driver's errors as ours, with their remedy."""
        try:
            yield
        except DBAPIError as problem:
            raise self._backend.explain(problem.orig or problem) from problem
        except PoolTimeout as problem:
            raise StoreBusy(
                f"All connections to {self.where} are in use.",
                remedy="Wait for the work under way, or raise `wait`.",
            ) from problem
