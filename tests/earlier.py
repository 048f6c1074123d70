"""What an earlier Suffice left: databases of an older schema."""

from __future__ import annotations

import pytest

from suffice.sql import backend as sql_backend
from suffice.sql.backend import Backend, Server, address, migrations
from suffice.sql.database import Database
from suffice.sql.postgresql import Postgresql
from suffice.sql.sqlite import Sqlite


def backend(place: str) -> Backend:
    where = address(place)
    return Postgresql(where, 10) if isinstance(where, Server) else Sqlite(where, 10)


def of_schema(place: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes at a place what a Suffice made that knew the migrations up to a number."""
    until = [step for step in migrations(backend(place).dialect) if step.number <= number]
    with monkeypatch.context() as earlier:
        earlier.setattr(sql_backend, "migrations", lambda dialect: until)
        Database.open(place, create=True).close()
