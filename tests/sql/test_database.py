"""One contract for both databases: transactions, snapshots, threads and failures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import text

from suffice.errors import StoreBusy, StoreError, StoreMissing
from suffice.sql import sqlite
from suffice.sql.database import Database
from tests.conftest import SHIPPED


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    opened = Database.open(place, create=True, wait=60)
    with opened.writing() as connection:
        connection.execute(text("CREATE TABLE notes (n INTEGER NOT NULL UNIQUE)"))
    yield opened
    opened.close()


def note(database: Database, *numbers: int, then: Callable[[], object] = lambda: None) -> None:
    with database.writing() as connection:
        for n in numbers:
            connection.execute(text("INSERT INTO notes VALUES (:n)"), {"n": n})
        then()


def notes(database: Database) -> list[int]:
    with database.reading() as connection:
        return list(connection.scalars(text("SELECT n FROM notes ORDER BY n")))


def test_what_is_written_is_there_after_opening_again(database: Database, place: str) -> None:
    note(database, 1)
    again = Database.open(place)
    assert notes(again) == [1]
    assert again.dialect == ("postgresql" if "://" in place else "sqlite")
    again.close()


def test_a_commit_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "WRITER", SHIPPED)  # the other tests do without
    opened = Database.open(tmp_path / "s.db", create=True)
    with opened.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    opened.close()


def test_a_relative_path_is_the_same_file_wherever_the_process_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    opened = Database.open("s.db", create=True)
    opened.close()  # so that the next use connects anew
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    with opened.alone(1), opened.writing() as connection:
        connection.execute(text("UPDATE store SET epoch = 5"))
    assert opened.where == "s.db"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_nothing_there_is_said_as_such(place: str) -> None:
    with pytest.raises(StoreMissing, match="suffice index"):
        Database.open(place)


def test_an_error_of_ours_undoes_the_whole_transaction(database: Database) -> None:
    with pytest.raises(ZeroDivisionError):
        note(database, 1, then=lambda: 1 // 0)
    assert notes(database) == []


def test_an_error_of_the_database_is_told_in_our_words_and_undone(database: Database) -> None:
    note(database, 1)
    with pytest.raises(StoreError) as told:
        note(database, 2, 1)
    assert database.where in str(told.value)
    assert "(1)" not in str(told.value)  # no row is quoted
    assert notes(database) == [1]


def test_a_reader_sees_one_state_while_others_write(database: Database) -> None:
    note(database, 1)
    with database.reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM notes")) == 1
        note(database, 2)
        assert connection.scalar(text("SELECT count(*) FROM notes")) == 1
    assert notes(database) == [1, 2]


def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StoreError), database.reading() as connection:
        connection.execute(text("INSERT INTO notes VALUES (1)"))
    assert notes(database) == []


def test_threads_share_it(database: Database) -> None:
    def work(n: int) -> int:
        note(database, n)
        return len(notes(database))

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(work, range(64)))
    assert notes(database) == list(range(64))
    assert all(seen)


def test_in_a_file_a_writer_is_alone_from_its_first_reading_on(tmp_path: Path) -> None:
    """Otherwise its reads could be stale when it writes, and SQLite would reject the write."""
    opened = [Database.open(tmp_path / "s.db", create=True, wait=120) for _ in range(2)]

    def count_up(database: Database) -> None:
        for _ in range(20):
            with database.writing() as connection:
                epoch = connection.scalar(text("SELECT epoch FROM store")) or 0
                connection.execute(text("UPDATE store SET epoch = :n"), {"n": epoch + 1})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(count_up, opened))
    with opened[0].reading() as connection:
        assert connection.scalar(text("SELECT epoch FROM store")) == 41
    for database in opened:
        database.close()


@contextmanager
def held(database: Database) -> Iterator[None]:
    """Hold a write transaction in another thread."""
    begun, finish = threading.Event(), threading.Event()

    def hold() -> None:
        with database.writing() as connection:
            connection.execute(text("INSERT INTO notes VALUES (1)"))
            begun.set()
            finish.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    begun.wait(30)
    try:
        yield
    finally:
        finish.set()
        holder.join()


@pytest.mark.parametrize("same", [True, False], ids=["one opened", "two opened"])
def test_a_writer_waits_for_another_and_then_says_so(
    place: str, database: Database, same: bool
) -> None:
    hasty = Database.open(place, wait=0.2)
    with held(hasty if same else database), pytest.raises(StoreBusy, match="`store_wait_seconds`"):
        note(hasty, 1)
    note(hasty, 2)
    assert notes(hasty) == [1, 2]
    hasty.close()
