"""A SQLite file: one writer at a time, any number of readers, each with a state of its own."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import QueuePool

from suffice.errors import StoreBusy, StoreDamaged, StoreError, StoreMissing
from suffice.sql.backend import Dialect, Engines
from suffice.sql.files import locked, translated, unwritable

# "SUFF": tells our file from another program's SQLite file.
APPLICATION_ID = 0x53554646
_READERS = 16


@dataclass(frozen=True, slots=True)
class Sqlite:
    """The file at a path. A lock another process holds is waited for, `wait` seconds."""

    shown: Path
    wait: float
    path: Path = field(init=False)  # stays the same where the process goes to another folder

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
            "rowid": "",  # every table has one
        }

    def engines(self, create: bool) -> Engines:
        if not create and not self.path.is_file():
            raise StoreMissing(
                f"There is no store at {self.where}.",
                remedy="Run: suffice index FOLDER, or ask with --docs FOLDER.",
            )
        with translated(self.where):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        return Engines(self._reader(), self._writer())

    def schema(self, connection: Connection) -> int:
        version = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
        owner = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
        tables = connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").scalar_one()
        if owner != APPLICATION_ID and (version or tables):
            raise StoreDamaged(
                f"{self.where} is a database of another program.", remedy="Name another --store."
            )
        return version

    def hold(self, connection: Connection) -> None:
        """Nothing to do: a transaction that writes is alone in the file."""

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
                remedy="Wait for it, or raise `wait`.",
            )
        if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            return StoreDamaged(
                f"{self.where} is not a store, or is damaged: {problem}.",
                remedy="Name another --store, or move the file away and index again.",
            )
        return StoreError(f"{self.where}: {problem}.")

    def _reader(self) -> Engine:
        """Sees one state of the file from `BEGIN` on, and can change nothing."""

        def connect() -> sqlite3.Connection:
            return self._connect("PRAGMA query_only = ON")

        return _engine(connect, "BEGIN", _READERS, self.wait)

    def _writer(self) -> Engine:
        """One connection only: the threads of a process queue for it in order, which is quicker
        than the polling by which SQLite waits for another process."""

        def connect() -> sqlite3.Connection:
            return self._connect(
                "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON"
            )

        return _engine(connect, "BEGIN IMMEDIATE", 1, self.wait)

    def _connect(self, *pragmas: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=self.wait, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in pragmas:
                self._patiently(connection, pragma)
        except BaseException:
            connection.close()
            raise
        return connection

    def _patiently(self, connection: sqlite3.Connection, pragma: str) -> None:
        """SQLite itself does not wait where two processes at once turn a new file to WAL."""
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

    # Python's own driver would begin late, and not IMMEDIATE: it is told to keep out of it.
    setattr(engine.dialect, "do_begin", lambda connection: connection.execute(begin))  # noqa: B010
    return engine
