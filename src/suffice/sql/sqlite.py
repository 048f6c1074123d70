"""SQLite backend: one writer at a time, any number of readers, each with its own snapshot."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import QueuePool

from suffice.errors import StoreBusy, StoreDamaged, StoreError, StoreMissing
from suffice.sql.backend import Dialect, Engines, locked, translated, unwritable

# "SUFF": distinguishes a store from SQLite files of other programs.
APPLICATION_ID = 0x53554646
_READERS = 16
WRITER: tuple[str, ...] = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
)
"""The pragmas of the writing connection: a commit survives a power failure."""


@dataclass(frozen=True, slots=True)
class Sqlite:
    """A database file; `wait` is the lock timeout in seconds."""

    shown: Path
    wait: float
    path: Path = field(init=False)  # absolute, so a change of working directory has no effect

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", self.shown.absolute())

    @property
    def dialect(self) -> Dialect:
        return "sqlite"

    @property
    def where(self) -> str:
        return str(self.shown)

    @property
    def words(self) -> Mapping[str, str]:
        return {
            "serial": "INTEGER PRIMARY KEY",
            "serial_never_reused": "INTEGER PRIMARY KEY AUTOINCREMENT",
            "integer": "INTEGER",
            "real": "REAL",
            "text": "TEXT",
            "blob": "BLOB",
            "random_id": "lower(hex(randomblob(16)))",
            "rowid": "",  # SQLite adds one to every table
        }

    def engines(self, create: bool) -> Engines:
        if not create and not self.path.is_file():
            raise StoreMissing(
                f"There is no store at {self.where}.",
                remedy="To create it, run: suffice index FOLDER",
            )
        with translated(self.where):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if create:  # readable only by its owner; SQLite gives its other files the same mode
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        return Engines(self._reader(), self._writer())

    def schema(self, connection: Connection) -> int:
        version = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
        owner = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if owner != APPLICATION_ID and (version or tables):
            raise StoreDamaged(
                f"{self.where} is a database of another program.", remedy="Use another --store."
            )
        return version

    def hold(self, connection: Connection) -> None:
        """Nothing to do: SQLite allows only one write transaction at a time."""

    def applied(self, connection: Connection, number: int) -> None:
        connection.exec_driver_sql(f"PRAGMA user_version = {number}")
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")

    @contextmanager
    def alone(self, engines: Engines, wait: float) -> Iterator[None]:
        with locked(Path(f"{self.path}.lock"), wait, self.where):
            yield

    def explain(self, problem: BaseException) -> StoreError:
        name = getattr(problem, "sqlite_errorname", "")
        if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
            return unwritable(self.where, str(problem))
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StoreBusy(
                f"{self.where} is locked by another process.",
                remedy="Wait for it to finish, or increase `store_wait_seconds` in the settings.",
            )
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return StoreDamaged(
                f"{self.where} is not a store, or is damaged: {problem}.",
                remedy="Use another --store, or move the file away and index again.",
            )
        return StoreError(f"{self.where}: {problem}.")

    def _reader(self) -> Engine:
        """Read-only connections; each sees a snapshot of the file from `BEGIN` on."""

        def connect() -> sqlite3.Connection:
            return self._connect("PRAGMA query_only = ON")

        return _engine(connect, "BEGIN", _READERS, self.wait)

    def _writer(self) -> Engine:
        """A single connection for which threads queue in order, which is faster than SQLite's
        polling for locks."""

        def connect() -> sqlite3.Connection:
            return self._connect(*WRITER)

        return _engine(connect, "BEGIN IMMEDIATE", 1, self.wait)

    def _connect(self, *pragmas: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self.wait, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in pragmas:
                self._run_pragma_with_retries(connection, pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    def _run_pragma_with_retries(self, connection: sqlite3.Connection, pragma: str) -> None:
        """Retry a pragma while the file is busy: SQLite does not wait when two processes switch a
        new file to WAL at the same time."""
        until = time.monotonic() + self.wait
        while True:
            try:
                connection.execute(pragma)
                return
            except sqlite3.OperationalError as problem:
                busy = problem.sqlite_errorname.startswith("SQLITE_BUSY")
                if not busy or time.monotonic() > until:
                    raise
                time.sleep(0.01)


def _engine(
    connect: Callable[[], sqlite3.Connection], begin: str, size: int, wait: float
) -> Engine:
    engine = create_engine(
        "sqlite://", creator=connect, poolclass=QueuePool, pool_size=size, max_overflow=0,
        pool_timeout=wait,
    )  # fmt: skip

    # The sqlite3 module would begin transactions late and not as IMMEDIATE, so this replaces it.
    setattr(engine.dialect, "do_begin", lambda connection: connection.execute(begin))  # noqa: B010
    return engine
