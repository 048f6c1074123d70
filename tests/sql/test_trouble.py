"""Store failures: translated errors with a remedy, and recovery afterwards."""

from __future__ import annotations

import resource
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from suffice.errors import (
    ExtraMissing,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreRights,
    StoreUnreachable,
)
from suffice.sql.database import Database
from tests.postgres import Postgres


def name_of(url: str) -> str:
    return url.rpartition("@/")[2].partition("?")[0]


def write(database: Database, times: int = 1) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE store SET epoch = epoch + :n"), {"n": times})


def epoch(database: Database) -> int:
    with database.reading() as connection:
        return int(connection.scalar(text("SELECT epoch FROM store")) or 0)


def raised(database: Database, state: str) -> StoreError:
    """The translated error for an SQLSTATE raised by the server."""
    block = f"DO $$ BEGIN RAISE EXCEPTION 'so it is' USING ERRCODE = '{state}'; END $$"
    with pytest.raises(StoreError) as told, database.writing() as connection:
        connection.execute(text(block))
    assert "so it is" in str(told.value)
    return told.value


# A file


def test_garbage_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    file.write_bytes(b"this is not a database, and long enough to look like one" * 40)
    with pytest.raises(StoreDamaged, match="not a store"):
        Database.open(file)


def test_a_file_damaged_in_the_middle(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    opened = Database.open(file, create=True)
    opened.close()
    bytes_of = bytearray(file.read_bytes())
    bytes_of[4096:] = b"\xff" * (len(bytes_of) - 4096)
    file.write_bytes(bytes_of)

    def read() -> int:
        again = Database.open(file)  # may see it at once: the schema takes more than a page
        try:
            return epoch(again)
        finally:
            again.close()

    with pytest.raises(StoreDamaged, match="damaged"):
        read()


def test_another_programs_file_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE theirs (x)")
    before = file.read_bytes()
    with pytest.raises(StoreDamaged, match="another program"):
        Database.open(file, create=True)
    assert file.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.db"]


def test_an_empty_file_is_no_store_unless_one_is_to_be_made(tmp_path: Path) -> None:
    file = tmp_path / "s.db"
    file.touch()
    with pytest.raises(StoreMissing, match="suffice index"):
        Database.open(file)
    Database.open(file, create=True).close()


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Limit the file size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_loses_nothing_and_is_over_when_there_is_room(tmp_path: Path) -> None:
    opened = Database.open(tmp_path / "s.db", create=True)
    write(opened)
    before = epoch(opened)
    with no_file_larger_than(4096), pytest.raises(StoreFull, match="Free some space"):
        write(opened)
    assert epoch(opened) == before
    write(opened)
    assert epoch(opened) == before + 1
    opened.close()


def test_a_file_that_may_not_be_written(tmp_path: Path) -> None:
    Database.open(tmp_path / "s.db", create=True).close()
    opened = Database.open(tmp_path / "s.db")
    with opened._engines.writer.connect() as connection:  # root may write anything
        connection.exec_driver_sql("PRAGMA query_only = ON")
    with pytest.raises(StoreFull, match="check the permissions"):
        write(opened)
    assert epoch(opened) == 1
    opened.close()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreFull, match="check the permissions"):
        Database.open(tmp_path / "file" / "s.db", create=True)


def test_a_new_file_that_another_process_has_just_begun_to_write(tmp_path: Path) -> None:
    """SQLite itself does not wait here."""
    other = sqlite3.connect(tmp_path / "s.db", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
    done.start()
    Database.open(tmp_path / "s.db", create=True, wait=10).close()
    done.join()
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy):
        write(Database.open(tmp_path / "s.db", wait=0.1))
    other.close()


# A server


def test_another_programs_tables_are_left_as_they_are(
    postgres: Postgres, postgres_url: str
) -> None:
    name = name_of(postgres_url)
    postgres.execute("CREATE TABLE theirs (x INT)", name)
    with pytest.raises(StoreDamaged, match="another program"):
        Database.open(postgres_url, create=True)
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert postgres.execute(tables, name) == [("theirs",)]


def test_tables_of_an_extension_are_nobodys(postgres: Postgres, postgres_url: str) -> None:
    name = name_of(postgres_url)
    postgres.execute("CREATE TABLE spatial_reference (x INT)", name)
    postgres.execute("ALTER EXTENSION plpgsql ADD TABLE spatial_reference", name)
    Database.open(postgres_url, create=True).close()


def test_a_schema_of_our_own_beside_another_programs_tables(
    postgres: Postgres, postgres_url: str
) -> None:
    name = name_of(postgres_url)
    postgres.execute("CREATE TABLE documents (x INT)", name)
    ours = postgres_url + "&options=-csearch_path%3Dours"
    with pytest.raises(StoreMissing, match="CREATE SCHEMA"):
        Database.open(ours, create=True)
    postgres.execute("CREATE SCHEMA ours", name)
    opened = Database.open(ours, create=True)
    assert epoch(opened) == 1
    opened.close()


@pytest.mark.parametrize(
    "wrong",
    [
        "postgresql://me:secret@127.0.0.1:1/db",
        "postgresql://me:secret@127.0.0.1:port/db",
        "postgresql://me:secret@127.0.0.1/db?no_such_option=1",
        "postgresql://me:se/cr#et@127.0.0.1:1/db?password=secret",
        "mysql://me:secret@127.0.0.1/db",
    ],
)
def test_a_wrong_url_is_said_without_its_password(wrong: str) -> None:
    with pytest.raises(StoreUnreachable, match="URL") as told:
        Database.open(wrong, create=True)
    said = f"{told.value}{told.value.__cause__ or ''}"
    assert "127.0.0.1" in said
    assert "secret" not in said
    assert "cr#et" not in said


def test_a_wrong_password(postgres: Postgres, postgres_url: str) -> None:
    name = name_of(postgres_url)
    with pytest.raises(StoreUnreachable, match="password") as told:
        Database.open(postgres.url(name, "locked", "guessed"), create=True)
    assert "guessed" not in str(told.value)
    with pytest.raises(StoreRights):  # the right one: in, but with no rights there
        Database.open(postgres.url(name, "locked", "open%20sesame"), create=True)


def test_no_such_database_or_user(postgres: Postgres) -> None:
    for url in (postgres.url("nowhere"), postgres.url("postgres", "nobody")):
        with pytest.raises(StoreUnreachable, match="does not exist"):
            Database.open(url, create=True)


def test_a_role_without_rights(postgres: Postgres, postgres_url: str) -> None:
    name = name_of(postgres_url)
    guest = postgres.url(name, "guest")
    with pytest.raises(StoreRights, match="GRANT"):
        Database.open(guest, create=True)
    Database.open(postgres_url, create=True).close()
    postgres.execute("GRANT SELECT ON suffice_schema TO guest", name)
    opened = Database.open(guest)
    with pytest.raises(StoreRights, match="permission denied for table store"):
        epoch(opened)
    postgres.execute("GRANT SELECT ON store TO guest", name)
    assert epoch(opened) == 1
    with pytest.raises(StoreRights):
        write(opened)
    opened.close()


def test_an_idle_connection_that_was_lost_is_not_noticed(
    postgres: Postgres, postgres_url: str
) -> None:
    opened = Database.open(postgres_url, create=True)
    write(opened)
    postgres.cut(name_of(postgres_url))
    write(opened)
    assert epoch(opened) == 3
    opened.close()


def test_a_connection_lost_in_a_transaction_is_told_and_the_next_one_works(
    postgres: Postgres, postgres_url: str
) -> None:
    opened = Database.open(postgres_url, create=True)

    def cut_within() -> None:
        with opened.writing() as connection:
            connection.execute(text("UPDATE store SET epoch = 7"))
            postgres.cut(name_of(postgres_url))

    with pytest.raises(StoreUnreachable, match="next operation reconnects"):
        cut_within()
    assert epoch(opened) == 1
    write(opened)
    assert epoch(opened) == 2
    opened.close()


def test_a_server_that_takes_nobody_in_and_then_does(postgres: Postgres, postgres_url: str) -> None:
    name = name_of(postgres_url)
    opened = Database.open(postgres_url, create=True)
    postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    postgres.cut(name)
    for use in (epoch, write):
        with pytest.raises(StoreUnreachable, match="not currently accepting"):
            use(opened)
    postgres.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    write(opened)
    assert epoch(opened) == 2
    opened.close()


def test_a_server_that_only_reads_for_a_while(postgres: Postgres, postgres_url: str) -> None:
    name = name_of(postgres_url)
    opened = Database.open(postgres_url, create=True)
    postgres.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    postgres.cut(name)
    with pytest.raises(StoreFull, match="read-only"):
        write(opened)
    assert epoch(opened) == 1
    postgres.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    postgres.cut(name)
    write(opened)
    assert epoch(opened) == 2
    opened.close()


def test_each_error_of_the_server_is_told_as_its_kind(postgres_url: str) -> None:
    opened = Database.open(postgres_url, create=True)
    kinds = {
        "53100": StoreFull,  # disk full
        "25006": StoreFull,  # read only
        "53300": StoreUnreachable,  # too many connections
        "57P01": StoreUnreachable,  # shut down
        "40P01": StoreBusy,  # deadlock
        "42501": StoreRights,
        "XX001": StoreDamaged,
        "22012": StoreError,
    }
    assert {state: type(raised(opened, state)) for state in kinds} == kinds
    write(opened)
    opened.close()


def test_postgresql_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ExtraMissing, match=r"suffice\[postgres\]"):
        Database.open("postgresql://me@127.0.0.1:1/db", create=True)
