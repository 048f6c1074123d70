"""The operations that differ between SQLite and PostgreSQL, as a protocol."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from suffice.errors import StoreError
from suffice.sql.toolkit import Connection, Engine

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
