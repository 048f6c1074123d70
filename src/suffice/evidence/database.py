"""The SQLite file under the store: opening, numbered migrations, and errors in our own words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suffice.errors import StoreBusy, StoreDamaged, StoreError, StoreFull, StoreNewer
from suffice.sql import migrate as numbered
from suffice.sql.sqlite import Sqlite

# "SUFF": tells our file from another program's SQLite file.
APPLICATION_ID = 0x53554646


def connect(path: Path, wait: float = 60.0) -> sqlite3.Connection:
    """An open connection to a store of the present schema, made or migrated where needed."""
    with translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            path, timeout=wait, isolation_level=None, check_same_thread=False
        )
        try:
            connection.row_factory = sqlite3.Row
            _schema(connection, path)  # another program's file is left as it is
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            migrate(connection, path)
        except BaseException:
            connection.close()
            raise
    return connection


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Applies the migrations this file has not seen, each in a transaction of its own."""
    steps = migrations()
    known = _schema(connection, path)
    newest = steps[-1][0]
    if known > newest:
        raise StoreNewer(
            f"{path} has schema {known}, this Suffice knows up to {newest}.",
            remedy="Upgrade Suffice, or name another --store.",
        )
    for number, script in steps:
        if number <= known:
            continue
        with transaction(connection, path):
            if _schema(connection, path) >= number:  # another process was first
                continue
            for statement in _statements(script):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def migrations() -> list[tuple[int, str]]:
    """The numbered scripts, in order: `0001_documents.sql` is number 1."""
    words = Sqlite(Path(), 0).words
    return [
        (step.number, "".join(step.statements(words))) for step in numbered.migrations("sqlite")
    ]


def _schema(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if owner != APPLICATION_ID and (version or tables):
        raise StoreDamaged(
            f"{path} is a database of another program.", remedy="Name another --store."
        )
    return version


def _statements(script: str) -> Iterator[str]:
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def transaction(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """All of it or nothing; a lock held by another process is waited for."""
    with translated(path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if connection.in_transaction:  # SQLite itself rolls back when the disk is full
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """SQLite's and the file system's errors as ours, with their remedy."""
    try:
        yield
    except sqlite3.Error as problem:
        raise _in_our_words(path, problem) from problem
    except OSError as problem:
        raise StoreFull(
            f"{path} cannot be written: {problem.strerror or problem}.",
            remedy="Free some space or check the rights, then run the same command again.",
        ) from problem


def _in_our_words(path: Path, problem: sqlite3.Error) -> StoreError:
    name = getattr(problem, "sqlite_errorname", "")
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")):
        return StoreFull(
            f"{path} cannot be written: {problem}.",
            remedy="Free some space or check the rights, then run the same command again; "
            "nothing committed is lost.",
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusy(
            f"{path} is locked by another process.", remedy="Wait for it, or raise `wait`."
        )
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
        return StoreDamaged(
            f"{path} is not a store, or is damaged: {problem}.",
            remedy="Name another --store, or move the file away and index again.",
        )
    return StoreError(f"{path}: {problem}.")
