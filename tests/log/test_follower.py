"""Followers of the log count each record once, see nothing erased, and do not stop writing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import event, text

from suffice.lab.monitor.monitor import Monitor
from suffice.lab.monitor.series import decision_index
from suffice.log.decision import Filing
from suffice.log.follower import Cursor, Follower, add_cursors, move_cursor, read_cursor
from suffice.log.log import Log
from suffice.log.record import Entry, Record
from suffice.review.queue import Queue
from suffice.settings import RecordSettings, Settings
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.webhooks import Outbox
from tests.earlier import backend, of_schema
from tests.log import examples as some


@pytest.fixture
def log(place: str) -> Iterator[Log]:
    opened = Log(Database.open(place, create=True, wait=5), RecordSettings(review_sample=1.0))
    yield opened
    opened.close()
    opened.database.close()


@dataclass(frozen=True, slots=True)
class Notes(Follower[list[str]]):
    """Collects the ids of notes."""

    database: Database
    ids: list[str] = field(default_factory=list)
    announced: Callable[[], object] = lambda: None

    name = "notes"
    kinds = ("note",)
    portion = 3

    def read(
        self, connection: sa.Connection, cursor: Cursor, entries: Sequence[Entry]
    ) -> list[str] | None:
        return [entry.id for entry in entries] or None

    def announce(self, change: list[str]) -> None:
        self.announced()

    def apply(self, connection: sa.Connection, change: list[str]) -> None:
        self.ids.extend(change)

    def state_after(self, change: list[str]) -> str:
        return change[-1]


def notes(log: Log, announced: Callable[[], object] = lambda: None) -> Notes:
    add_cursors(log.database, ["notes"])
    return Notes(log.database, announced=announced)


def append(log: Log, *kinds: str, caller: str = "") -> list[str]:
    records = [Record(kind, {"text": kind}, caller) for kind in kinds]
    log.append(*records)
    return [record.id for record in records]


def cursor(log: Log, name: str) -> Cursor:
    with log.database.reading() as connection:
        return read_cursor(connection, name)


def test_a_follower_reads_its_kinds_in_portions(log: Log) -> None:
    append(log, "note")
    follower = notes(log)  # it begins with the next record
    ids = append(log, *["other"] * 20, "note", "note", "other", "note", *["other"] * 20)
    assert follower.update()
    assert follower.ids == [ids[20], ids[21]]  # three consecutive records, one of another kind
    assert follower.update()
    assert not follower.update()
    assert follower.ids == [ids[20], ids[21], ids[23]]
    assert cursor(log, "notes") == Cursor(25, ids[23])
    assert follower.behind() == 20


def test_nothing_is_written_if_another_process_was_faster(log: Log) -> None:
    other = notes(log)
    steps = iter([other.update])
    follower = notes(log, lambda: next(steps, lambda: None)())
    ids = append(log, "note", "note")
    assert follower.update()  # there may be more, which the other has not read
    follower.catch_up()
    assert (other.ids, follower.ids) == (ids, [])


def test_what_is_erased_while_it_is_read_is_not_written(log: Log) -> None:
    steps = iter([lambda: log.eraser.subject("ann")])
    follower = notes(log, lambda: next(steps, lambda: None)())
    ids = append(log, "note", caller="ann")
    assert follower.update()
    assert follower.ids == []
    follower.catch_up()
    assert follower.ids == ids  # read again, without the erased content


def test_a_cursor_moves_only_from_where_it_was_read(log: Log) -> None:
    add_cursors(log.database, ["here"])
    assert move_cursor(log.database, "here", Cursor(0), Cursor(0, "then"))
    assert not move_cursor(log.database, "here", Cursor(0), Cursor(0, "again"))
    assert cursor(log, "here") == Cursor(0, "then")


def test_records_are_written_while_a_webhook_reads_the_log(log: Log) -> None:
    outbox = Outbox(log.database)
    outbox.gather({"ops": lambda event, entry: True})
    log.write(some.VERDICT)

    def wants(event: str, entry: Entry) -> bool:
        log.append(Record("note", {"text": "written meanwhile"}))
        return True

    outbox.gather({"ops": wants})
    assert [delivery.event for delivery in outbox.list()][:1] == ["verdict.caveat"]


@pytest.mark.parametrize("name", ["queue", "decisions", "monitor", "webhook ops"])
def test_no_payload_is_read_in_a_write_transaction(log: Log, name: str) -> None:
    outbox = Outbox(log.database)
    outbox.gather({"ops": lambda event, entry: True})
    log.write(some.VERDICT, some.TRACE, Filing("ann"))
    statements: list[str] = []

    def listen(*given: object) -> None:
        statements.append(str(given[2]))

    follow: dict[str, Callable[[], object]] = {
        "queue": Queue(log.database).catch_up,
        "decisions": decision_index(log.database, 0.3).catch_up,
        "monitor": Monitor.of(log, Settings()).catch_up,
        "webhook ops": lambda: outbox.gather({"ops": lambda event, entry: True}),
    }
    writer = log.database._engines.writer
    before = cursor(log, name)
    event.listen(writer, "before_cursor_execute", listen)
    try:
        follow[name]()
    finally:
        event.remove(writer, "before_cursor_execute", listen)
    assert cursor(log, name).sequence > before.sequence
    assert any("followers" in statement for statement in statements)
    reads = [line for line in statements if line.startswith("SELECT") and "payload" in line]
    if log.database.dialect == "sqlite":  # PostgreSQL reads and writes through one engine
        assert reads == []


BODY = {
    "sequence": 6,
    "time": "2026-01-05T12:00:00.000000Z",
    "tracked": {},
    "alarms": [],
    "certificates": {},
    "sampled": "2026-01-04T12:00:00.000000Z",
    "deep": {"count": 2, "changed": 1, "released": 1.5, "again": 1.0},
    "suspended": [],
}


@pytest.mark.parametrize("used", [True, False])
def test_an_older_store_keeps_its_cursors(
    place: str, used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_schema(place, 13, monkeypatch)
    engine = backend(place).engines(create=False).writer
    if used:
        with engine.begin() as connection:
            connection.execute(text("UPDATE review_place SET sequence = 5"))
            connection.execute(text("UPDATE decision_index SET sequence = 7"))
            connection.execute(text("INSERT INTO webhooks VALUES ('ops', 3)"))
            connection.execute(
                text("UPDATE record_head SET checkpoint = 4, checkpoint_time = 'then'")
            )
            connection.execute(text("UPDATE monitor SET body = :body"), {"body": json.dumps(BODY)})
    engine.dispose()
    log = Log.open(place)
    names = ("queue", "decisions", "checkpoints", "monitor", "weekly_sample")
    found = {name: cursor(log, name) for name in names}
    monitor = Monitor.of(log, Settings())
    if not used:
        assert set(found.values()) == {Cursor()}
        assert monitor.state.sequence == 0
    else:
        assert found == {
            "queue": Cursor(5),
            "decisions": Cursor(7),
            "checkpoints": Cursor(4, "then"),
            "monitor": Cursor(6, json.dumps(BODY)),
            "weekly_sample": Cursor(0, "2026-01-04T12:00:00.000000Z"),
        }
        assert cursor(log, "webhook ops") == Cursor(3)
        assert (monitor.state.sequence, monitor.state.deep.count) == (6, 2)
    record = log.write(some.VERDICT)
    Queue(log.database).catch_up()
    monitor.catch_up()
    assert log.entry(record).sequence == 1
    log.close()
    log.database.close()


def test_the_cursors_of_an_older_store_are_in_no_other_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_schema(str(tmp_path / "s.db"), 13, monkeypatch)
    database = Database.open(tmp_path / "s.db")
    with database.reading() as connection:
        names = set(connection.scalars(text("SELECT name FROM sqlite_master")))
    assert not names & {"review_place", "decision_index", "webhooks", "monitor"}
    database.close()
