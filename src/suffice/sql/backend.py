"""What the two databases have to do each in their own way. All else is one."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from sqlalchemy import Connection, Engine

from suffice.errors import StoreError

Dialect = Literal["sqlite", "postgresql"]


@dataclass(frozen=True, slots=True)
class Engines:
    """One to read with, which cannot write, and one to write with."""

    reader: Engine
    writer: Engine


class Backend(Protocol):
    """A kind of database."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def where(self) -> str:
        """The path or URL to show."""
        ...

    @property
    def path(self) -> Path | None:
        """The file, where it is one."""
        ...

    @property
    def words(self) -> Mapping[str, str]:
        """What stands in the migrations for `{serial}` and the like."""
        ...

    def engines(self, create: bool) -> Engines: ...

    def schema(self, connection: Connection) -> int:
        """The number of the newest migration this database has seen, 0 for an empty one.
        Another program's database is refused, and left as it is."""
        ...

    def hold(self, connection: Connection) -> None:
        """Lets no other process migrate until the transaction ends."""
        ...

    def applied(self, connection: Connection, number: int) -> None:
        """Notes that a migration was applied."""
        ...

    def alone(self, engines: Engines, wait: float) -> AbstractContextManager[None]:
        """The lock of a piece of work that takes many transactions."""
        ...

    def explain(self, problem: BaseException) -> StoreError:
        """The driver's error in our own words."""
        ...
