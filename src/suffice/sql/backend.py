"""Database addresses, the operations that differ between SQLite and PostgreSQL, and migrations."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from sqlalchemy import Connection, Engine

from suffice.errors import StoreBusy, StoreError, StoreFull, StoreNewer, StoreUnreachable

if TYPE_CHECKING:
    from sqlalchemy import URL

_EXAMPLE = "postgresql://user:password@host/name"
_SECRETS = ("password", "sslpassword", "passfile")


@dataclass(frozen=True, slots=True)
class Server:
    """A PostgreSQL database; `shown` is its URL with passwords masked."""

    url: URL
    shown: str


def address(where: str | Path) -> Path | Server:
    """Parse the address of a store: `suffice.db`, `sqlite:///suffice.db` or `postgresql://…`."""
    if isinstance(where, Path) or "://" not in where:
        return Path(where)
    scheme = where.partition("://")[0].lower()
    if scheme == "sqlite":
        return Path(where[len("sqlite://") :].removeprefix("/"))
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        return _server(where)
    raise StoreUnreachable(
        f"The database URL {masked(where)} is not supported.",
        remedy=f"Use a file path, or a URL such as {_EXAMPLE}",
    )


def masked(where: str) -> str:
    """A URL with its passwords masked; also works for malformed URLs."""
    hidden = re.sub(r"\A([^:]*://[^:]*):.*@", r"\1:***@", where, flags=re.DOTALL)
    return re.sub(rf"([?&](?:{'|'.join(_SECRETS)})=)[^&]*", r"\1***", hidden)


def _server(where: str) -> Server:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(where)
    except (ArgumentError, ValueError):
        raise StoreUnreachable(
            f"The database URL {masked(where)} is invalid.", remedy=f"Use the form {_EXAMPLE}"
        ) from None
    return Server(url.set(drivername="postgresql+psycopg"), masked(where))


Dialect = Literal["sqlite", "postgresql"]


@dataclass(frozen=True, slots=True)
class Engines:
    """A read-only engine and a read-write engine."""

    reader: Engine
    writer: Engine


class Backend(Protocol):
    """A kind of database: SQLite or PostgreSQL."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def where(self) -> str:
        """Path or URL for messages, with passwords masked."""
        ...

    @property
    def path(self) -> Path | None:
        """The database file; `None` for a server."""
        ...

    @property
    def words(self) -> Mapping[str, str]:
        """Replacements for placeholders in migrations, such as `{serial}`."""
        ...

    def engines(self, create: bool) -> Engines: ...

    def schema(self, connection: Connection) -> int:
        """The number of the newest applied migration, 0 for an empty database. A database of
        another program is rejected and left unchanged."""
        ...

    def hold(self, connection: Connection) -> None:
        """Block migrations by other processes until the transaction ends."""
        ...

    def applied(self, connection: Connection, number: int) -> None:
        """Record that a migration was applied."""
        ...

    def alone(self, engines: Engines, wait: float) -> AbstractContextManager[None]:
        """Hold the write lock for work that spans several transactions."""
        ...

    def explain(self, problem: BaseException) -> StoreError:
        """Translate an error of the driver into a `StoreError`."""
        ...


@contextmanager
def locked(file: Path, wait: float, where: str) -> Iterator[None]:
    """Hold a file lock; raise `StoreBusy` if it is not available within `wait` seconds. The
    operating system releases the lock when the process dies."""
    from filelock import FileLock, Timeout

    lock = FileLock(file, mode=0o600)
    with translated(where):
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            raise busy(where, wait) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Translate file system errors into errors with a remedy."""
    try:
        yield
    except OSError as problem:
        raise unwritable(where, problem.strerror or str(problem)) from problem


def busy(where: str, wait: float) -> StoreBusy:
    return StoreBusy(
        f"Another process is writing to {where} (waited {wait:g} s).",
        remedy="Wait for it to finish, or increase `store_wait_seconds` in the settings. "
        "Searches need no lock.",
    )


def unwritable(where: str, why: str) -> StoreFull:
    return StoreFull(
        f"Cannot write to {where}: {why}.",
        remedy="Free some space or check the permissions, then run the command again. Committed "
        "data is not affected.",
    )


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    script: str

    def statements(self, words: Mapping[str, str]) -> Iterator[str]:
        """The statements, with placeholders replaced."""
        script = self.script
        for word, meaning in words.items():
            script = script.replace(f"{{{word}}}", meaning)
        statement = ""
        for line in script.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                yield statement
                statement = ""


def migrations(dialect: Dialect) -> list[Migration]:
    """All migrations for a dialect, in order."""
    folder = resources.files("suffice.sql") / "migrations"
    found = []
    for entry in folder.iterdir():
        name, *only, ending = entry.name.split(".")
        if ending == "sql" and only in ([], [dialect]):
            found.append(Migration(int(name[:4]), name[5:], entry.read_text(encoding="utf-8")))
    return sorted(found, key=lambda migration: migration.number)


def migrate(backend: Backend, writer: Engine, known: int) -> None:
    """Apply the missing migrations, each in its own transaction. If two processes migrate at the
    same time, one waits and then finds nothing to do."""
    steps = migrations(backend.dialect)
    newest = steps[-1].number
    if known > newest:
        raise StoreNewer(
            f"{backend.where} has schema version {known}, but this version of Suffice supports "
            f"only up to {newest}.",
            remedy="Upgrade Suffice, or use another --store.",
        )
    for step in steps:
        if step.number > known:
            _apply(backend, writer, step)


def _apply(backend: Backend, writer: Engine, step: Migration) -> None:
    with writer.begin() as connection:
        backend.hold(connection)
        if backend.schema(connection) >= step.number:  # another process has applied it
            return
        for statement in step.statements(backend.words):
            connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
        backend.applied(connection, step.number)
