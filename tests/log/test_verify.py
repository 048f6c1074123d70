"""Every manipulation of the log is detected, and reported at the right record."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from suffice.log.chain import link_over
from suffice.log.decision import Filing
from suffice.log.log import Log
from suffice.log.record import SALT, lines, manifest, without_fields
from suffice.log.replay import last_verification, record_verification
from suffice.log.verify import Span, Verified, verify_around
from suffice.sql.database import Database
from tests.log import examples as some

COUNT = 12
COLUMNS = "id time clock kind caller tag root seal link manifest payload".split()
EDIT = "UPDATE records SET payload = replace(payload, 'Question', 'Answer') WHERE sequence = {}"
Tamper = Callable[[sqlite3.Connection], object]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which one record was erased partly and one completely."""
    path = tmp_path_factory.mktemp("verify") / "s.db"
    log = Log.open(path, create=True)
    for n in range(1, COUNT):
        log.append(some.note(n, caller="alice" if n == 3 else f"c{n}" if n % 2 else "", tag="t"))
    log.eraser.subject("alice")
    assert log.verify(deep=True).whole
    log.close()
    log.database.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def copy(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "s.db"))


def after(path: Path, *changes: Tamper, deep: bool = False) -> Verified:
    with closing(sqlite3.connect(path)) as connection, connection:
        for change in changes:
            change(connection)
    database = Database.open(path)
    try:
        return Log(database).verify(deep=deep)
    finally:
        database.close()


def do(statement: str, *values: object) -> Tamper:
    return lambda connection: connection.execute(statement, values)


def first(found: Verified) -> int:
    """The first fault. A faulty erasure record makes the erased records faulty too."""
    assert not found.whole
    return found.faults[0].sequence


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_an_edit_of_any_column_is_found_where_it_is(original: Path, data: st.DataObject) -> None:
    column = data.draw(st.sampled_from(COLUMNS))
    at = data.draw(st.integers(1, COUNT))
    path = original.with_name("edited.db")
    shutil.copy(original, path)
    with closing(sqlite3.connect(path)) as connection:
        (before,) = connection.execute(
            f"SELECT {column} FROM records WHERE sequence = ?", (at,)
        ).fetchone()
    value = data.draw(
        st.text(st.characters(codec="utf-8"), max_size=9)
        | st.binary(max_size=9)
        | st.integers(0, 9)
        | (st.none() if column in ("caller", "tag", "manifest") else st.nothing())
        | st.just(_one_letter_other(before))
    )
    if value == before or (value in ("", b"", None) and not before):  # that is no edit
        return
    found = after(path, do(f"UPDATE records SET {column} = ? WHERE sequence = ?", value, at))
    assert first(found) == at
    assert all(fault.sequence == at or fault.what == "erased" for fault in found.faults)


def _one_letter_other(value: str | None) -> str:
    if not value:
        return "x"
    middle = len(value) // 2
    return f"{value[:middle]}{'a' if value[middle] != 'a' else 'b'}{value[middle + 1 :]}"


@pytest.mark.parametrize("at", range(1, COUNT + 1))
def test_a_deletion_is_found_where_it_is(copy: Path, at: int) -> None:
    found = after(copy, do("DELETE FROM records WHERE sequence = ?", at))
    assert found.faults[0].what == "missing"
    assert first(found) == at
    assert f"Record {at} is missing" in found.faults[0].message


def renumber(since: int, by: int) -> Tamper:
    """Renumber the other rows to hide the change."""

    def moved(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE records SET sequence = -sequence WHERE sequence >= ?", (since,))
        connection.execute("UPDATE records SET sequence = ? - sequence WHERE sequence < 0", (by,))
        connection.execute("UPDATE record_head SET sequence = sequence + ?", (by,))

    return moved


@pytest.mark.parametrize("at", range(1, COUNT))
def test_a_deletion_is_found_though_the_others_are_renumbered(copy: Path, at: int) -> None:
    delete = do("DELETE FROM records WHERE sequence = ?", at)
    assert first(after(copy, delete, renumber(at + 1, -1))) == at


@pytest.mark.parametrize("at", range(1, COUNT + 1))
def test_an_insertion_is_found_where_it_is(copy: Path, at: int) -> None:
    insert = do(
        "INSERT INTO records SELECT ?, 'new', time, clock, kind, caller, tag, root, seal, link, "
        "manifest, payload FROM records WHERE sequence = ?",
        at,
        at + 1 if at < COUNT else 1,
    )
    assert first(after(copy, renumber(at, 1), insert)) == at


def test_one_that_is_appended_behind_the_back_of_the_head_is_found(copy: Path) -> None:
    def append(connection: sqlite3.Connection) -> None:
        row = list(connection.execute("SELECT * FROM records ORDER BY 1 DESC").fetchone())
        link, row[0], row[1] = row[9], row[0] + 1, "new"
        head = "\n".join((*row[1:5], row[7], row[8])).encode()
        row[9] = link_over(link.encode(), row[0], head).decode()
        connection.execute("INSERT INTO records VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", row)

    found = after(copy, append)
    assert [(fault.what, fault.sequence) for fault in found.faults] == [("added", COUNT + 1)]


@pytest.mark.parametrize("sequence", [0, -5])
def test_one_that_stands_before_the_first_is_found(copy: Path, sequence: int) -> None:
    insert = do(
        "INSERT INTO records SELECT ?, 'new', time, clock, kind, caller, tag, root, seal, link, "
        "manifest, payload FROM records WHERE sequence = 1",
        sequence,
    )
    found = after(copy, insert)
    assert (found.faults[0].what, found.faults[0].sequence) == ("added", sequence)


@settings(deadline=None, max_examples=40)
@given(places=st.sets(st.integers(1, COUNT), min_size=2, max_size=2))
def test_two_that_changed_places_are_found(original: Path, places: set[int]) -> None:
    path = original.with_name("swapped.db")
    shutil.copy(original, path)
    one, other = sorted(places)
    swap = [
        do("UPDATE records SET sequence = -1 WHERE sequence = ?", one),
        do("UPDATE records SET sequence = ? WHERE sequence = ?", one, other),
        do("UPDATE records SET sequence = ? WHERE sequence = -1", other),
    ]
    found = after(path, *swap)
    assert first(found) == one
    assert other in {fault.sequence for fault in found.faults}


@pytest.mark.parametrize("last", range(COUNT))
def test_a_truncation_is_found_by_the_head(copy: Path, last: int) -> None:
    found = after(copy, do("DELETE FROM records WHERE sequence > ?", last))
    assert found.faults[0].what == "missing"
    assert first(found) == last + 1
    assert "at the end" in found.faults[0].message


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ("sequence = sequence - 1", "added"),
        ("sequence = sequence + 1", "missing"),
        ("link = 'sha256:0'", "head"),
        ("log = 'another'", "edited"),
    ],
)
def test_an_edited_head_is_found(copy: Path, change: str, what: str) -> None:
    assert after(copy, do(f"UPDATE record_head SET {change}")).faults[0].what == what


def test_what_vanishes_without_a_record_of_it_is_found(copy: Path) -> None:
    """Forging the manifest of a record does not make it count as erased."""
    found = after(
        copy,
        do(
            "UPDATE records SET payload = '', caller = NULL, tag = NULL, manifest = "
            "(SELECT manifest FROM records WHERE sequence = 3) WHERE sequence = 5"
        ),
    )
    assert {fault.what for fault in found.faults} == {"edited", "erased"}
    assert {fault.sequence for fault in found.faults} == {5}


def test_a_field_that_vanishes_is_found_though_its_commitments_are_right(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        (payload,) = connection.execute("SELECT payload FROM records WHERE sequence=5").fetchone()
    stated = manifest(payload)
    change = do(
        "UPDATE records SET payload = ?, manifest = ? WHERE sequence = 5",
        without_fields(payload, {"question"}),
        stated,
    )
    (fault,) = after(copy, change).faults
    assert (fault.what, fault.sequence) == ("erased", 5)
    assert "lacks question" in fault.message


def test_a_field_that_is_made_out_never_to_have_been_stored_is_found(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        (said,) = connection.execute("SELECT payload FROM records WHERE sequence=5").fetchone()
    _, question, _ = lines(said)
    salt = said.split("\n")[1][:SALT]
    hidden = said.replace(
        f"{salt} question {question.value}", f"{salt} question! {question.commitment}"
    )
    assert [line.stored for line in lines(hidden)] == [True, False, True]
    for stated in (manifest(said), manifest(hidden), None):
        change = do(
            "UPDATE records SET payload = ?, manifest = ? WHERE sequence = 5", hidden, stated
        )
        assert first(after(copy, change)) == 5


def test_a_line_that_is_changed_beside_an_erased_one_is_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    log = Log.open(path, create=True)
    log.append(some.note(1), some.note(2))
    from datetime import UTC, datetime

    log.eraser.before(datetime(9999, 1, 1, tzinfo=UTC), names=["question"])
    assert log.verify().whole
    log.close()
    log.database.close()
    change = do("UPDATE records SET payload = replace(payload, '\"n\":1', '\"n\":7')")
    (fault,) = after(path, change).faults
    assert (fault.what, fault.sequence) == ("edited", 1)
    assert "'outcome'" in fault.message


def test_a_whole_log_stays_whole_after_reading(copy: Path) -> None:
    found = after(copy, deep=True)
    assert found.whole
    assert (found.records, found.last, found.erased) == (COUNT, COUNT, 1)


def test_many_faults_are_counted_and_the_first_are_told(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    log = Log.open(path, create=True)
    log.append(*(some.note(n) for n in range(300)))
    log.close()
    log.database.close()
    found = after(path, do("UPDATE records SET payload = payload || 'x'"))
    assert found.count == 300
    assert [fault.sequence for fault in found.faults] == list(range(1, 101))


def test_on_postgresql_too(postgres_url: str) -> None:
    log = Log.open(postgres_url, create=True)
    for n in range(1, 8):
        log.append(some.note(n, caller=f"c{n}"))
    log.write(some.VERDICT, some.TRACE, Filing("c9"))
    log.eraser.subject("c3")
    assert log.verify(deep=True).whole
    for change, at in (
        ("UPDATE records SET payload = payload || ' ' WHERE sequence = 2", 2),
        ("UPDATE records SET kind = 'gate' WHERE sequence = 4", 4),
        ("UPDATE records SET caller = 'other' WHERE sequence = 5", 5),
        ("UPDATE records SET payload = '' WHERE sequence = 6", 6),
        ("DELETE FROM records WHERE sequence > 8", 9),
        ("DELETE FROM records WHERE sequence = 7", 7),
    ):
        with log.database.writing() as connection:
            connection.execute(text(change))
        assert at in {fault.sequence for fault in log.verify().faults}
    log.close()
    log.database.close()


def around(path: Path, sequence: int, *changes: Tamper, beside: int = 2) -> Span:
    after(path, *changes)
    database = Database.open(path)
    try:
        return verify_around(database, sequence, beside)
    finally:
        database.close()


def test_the_records_around_one_are_verified(copy: Path) -> None:
    assert around(copy, 6) == Span(4, 8)
    assert around(copy, 1) == Span(1, 3)
    assert around(copy, COUNT) == Span(COUNT - 2, COUNT)


def test_a_change_beside_a_record_is_found(copy: Path) -> None:
    changed = around(copy, 6, lambda sql: sql.execute(EDIT.format(7)))
    assert [(one.what, one.sequence) for one in changed.faults] == [("edited", 7)]
    assert not changed.whole
    assert around(copy, 3).whole  # too far away


def test_a_lost_record_beside_one_is_found(copy: Path) -> None:
    found = around(copy, 6, lambda sql: sql.execute("DELETE FROM records WHERE sequence = 7"))
    assert ("missing", 7) in [(one.what, one.sequence) for one in found.faults]
    found = around(
        copy, COUNT, lambda sql: sql.execute(f"DELETE FROM records WHERE sequence = {COUNT}")
    )
    assert ("missing", COUNT) in [(one.what, one.sequence) for one in found.faults]


def test_a_verification_can_be_recorded(copy: Path) -> None:
    log = Log(Database.open(copy))
    assert last_verification(log) is None
    record_verification(log, log.verify(), "ann")
    found = last_verification(log)
    assert found is not None
    assert (found.whole, found.last, found.by) == (True, COUNT, "ann")
    assert log.verify().whole
    log.close()
    log.database.close()
