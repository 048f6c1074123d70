"""Migrations: older databases are upgraded, newer ones rejected, concurrent runs are safe."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text

from suffice.errors import StoreNewer
from suffice.sql import backend as room
from suffice.sql.backend import Backend, migrations
from suffice.sql.database import Database
from suffice.sql.sqlite import Sqlite
from tests.earlier import backend, of_schema
from tests.processes import FORKS, PATIENCE, ended, started
from tests.sql.opening import open_together

NEWEST = migrations("sqlite")[-1].number


def schema(place: str) -> int:
    opened = backend(place)
    engine = opened.engines(create=False).reader
    with engine.connect() as connection:
        number = opened.schema(connection)
    engine.dispose()
    return number


def tables(engine: Engine) -> dict[str, list[tuple[str, bool]]]:
    inspector = inspect(engine)
    return {
        name: [
            (column["name"], column["nullable"])
            for column in inspector.get_columns(name)
            if column["name"] != "rowid"
        ]
        for name in inspector.get_table_names()
        if name != "suffice_schema"
    }


def test_an_older_schema_is_migrated_with_its_rows(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_schema(place, 1, monkeypatch)
    assert schema(place) == 1
    engine = backend(place).engines(create=False).writer
    with engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO documents (collection, name, root, stamp) VALUES ('c', 'n', 'r', 's')"
            )
        )
    engine.dispose()
    opened = Database.open(place)
    with opened.reading() as connection:
        assert connection.scalar(text("SELECT stamp FROM documents")) == ""
    opened.close()
    assert schema(place) == NEWEST


def test_a_newer_schema_is_refused_with_the_remedy(place: str) -> None:
    Database.open(place, create=True).close()
    newer = backend(place)
    engine = newer.engines(create=False).writer
    with engine.begin() as connection:
        newer.applied(connection, 9999)
    engine.dispose()
    with pytest.raises(StoreNewer, match=r"9999.*Upgrade Suffice"):
        Database.open(place)
    assert schema(place) == 9999


def test_a_step_that_fails_leaves_the_database_at_the_step_before(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_schema(place, 1, monkeypatch)
    good = migrations(backend(place).dialect)
    broken = room.Migration(2, "broken", "CREATE TABLE half (x {integer});\nSELECT nonsense;\n")
    with monkeypatch.context() as faulty:
        faulty.setattr(room, "migrations", lambda dialect: [good[0], broken])
        with pytest.raises(Exception, match="nonsense"):
            Database.open(place)
    assert schema(place) == 1
    Database.open(place).close()
    assert schema(place) == NEWEST


def test_processes_that_migrate_at_once_do_it_once(place: str) -> None:
    together = FORKS.Barrier(4)
    running = [started(open_together, place, together) for _ in range(4)]
    assert [ended(process) for process in running] == [0] * 4
    assert schema(place) == NEWEST


def test_all_who_found_it_empty_make_it_once(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tightest race: all processes see an empty database before any of them migrates."""
    together = threading.Barrier(4)

    def begin(backend: Backend, writer: Engine, known: int) -> None:
        assert known == 0
        together.wait(PATIENCE)
        room.migrate(backend, writer, known)

    monkeypatch.setattr("suffice.sql.database.migrate", begin)

    def opened(_: int) -> int:
        database = Database.open(place, create=True, wait=120)
        with database.reading() as connection:
            rows = connection.scalar(text("SELECT count(*) FROM store"))
        database.close()
        return int(rows or 0)

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(opened, range(4))) == [1, 1, 1, 1]


def test_both_databases_have_the_same_tables(tmp_path: Path, postgres_url: str) -> None:
    found = []
    for place in (str(tmp_path / "s.db"), postgres_url):
        Database.open(place, create=True).close()
        engine = backend(place).engines(create=False).reader
        found.append(tables(engine))
        engine.dispose()
    assert found[0].keys() == found[1].keys()
    for name, columns in found[0].items():
        assert [column for column, _ in columns] == [column for column, _ in found[1][name]]


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
def test_no_placeholder_is_left_over(dialect: str) -> None:
    of: Backend = Sqlite(Path(), 1) if dialect == "sqlite" else backend("postgresql://host/name")
    for step in migrations(of.dialect):
        statements = list(step.statements(of.words))
        assert statements
        assert not [s for s in statements if re.search(r"\{\w+\}", s)]
        assert step.script.rstrip().endswith(";")  # else the last statement would be lost


def test_numbers_are_those_of_the_names_and_none_is_there_twice() -> None:
    for dialect in ("sqlite", "postgresql"):
        numbers = [step.number for step in migrations(dialect)]
        assert numbers == sorted(set(numbers))
        assert numbers[:2] == [1, 2]
