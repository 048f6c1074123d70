"""One contract for both databases: all appended records are in one chain, from any process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from suffice.errors import SettingsError, StoreError, StoreFull, StoreUnreachable
from suffice.log.chain import timestamp
from suffice.log.decision import Filing, decision_of
from suffice.log.log import Log
from suffice.log.record import Record, new_id
from suffice.log.setup import Setup
from suffice.log.stored import RecordFilter
from suffice.log.tables import CHECKPOINTS, FOLLOWERS, HEAD, RECORDS
from suffice.settings import RecordSettings
from suffice.sql.database import Database
from suffice.types import Attempt, Draft
from tests.log import examples as some
from tests.postgres import Postgres


@pytest.fixture
def log(place: str) -> Iterator[Log]:
    opened = Log.open(place, create=True, wait=60)
    yield opened
    opened.close()
    opened.database.close()


def test_tables_are_those_of_the_migrations(log: Log) -> None:
    with log.database.reading() as connection:
        found = inspect(connection)
        for table in (RECORDS, HEAD, CHECKPOINTS, FOLLOWERS):
            there = [(one["name"], one["nullable"]) for one in found.get_columns(table.name)]
            pairs = zip(there, table.columns, strict=True)
            assert [name for name, _ in there] == [column.name for column in table.columns]
            assert all(
                nullable or not c.nullable for (_, nullable), c in pairs if not c.primary_key
            )


def test_a_verdict_is_found_by_its_id_and_read_back(log: Log) -> None:
    setup = Setup().record()
    id = log.write(some.VERDICT, some.TRACE, Filing("alice", "case-1", setup))
    entry = log.entry(id)
    found = decision_of(entry)
    assert (found.verdict, found.trace) == (some.VERDICT, some.TRACE)
    assert (entry.kind, entry.caller, entry.tag) == ("verdict", "alice", "case-1")
    assert log.entry(entry.fields()["setup"]).kind == "setup"
    assert log.entry("2") == entry
    assert log.verify(deep=True).whole


def test_a_gate_alone_and_a_gap_are_recorded(log: Log) -> None:
    gate = log.write_gate(some.COUNTED, some.GATE, some.TRACE)
    assert decision_of(log.entry(gate)).gate == some.GATE
    verdict = log.write(some.GAP)
    newest = log.page()
    assert [one.kind for one in newest] == ["gap", "verdict", "gate"]
    assert newest[0].fields()["record"] == verdict


def test_what_is_written_once_is_there_once(log: Log, place: str) -> None:
    setup = Setup().record()
    other = Log.open(place)
    for one in (log, log, other):
        one.write(some.VERDICT, filing=Filing(setup=setup))
    assert [one.kind for one in other.entries()] == ["setup", "verdict", "verdict", "verdict"]
    other.close()
    other.database.close()
    assert log.verify().whole


def test_threads_share_one_chain_and_lose_nothing(log: Log) -> None:
    with ThreadPoolExecutor(16) as pool:
        records = [some.note(n) for n in range(200)]
        list(pool.map(log.append, records))
    found = list(log.entries())
    assert [one.sequence for one in found] == list(range(1, 201))
    assert {one.id for one in found} == {one.id for one in records}
    assert log.verify().whole
    assert log.head().sequence == 200


def test_records_given_together_are_sealed_together_in_their_order(log: Log) -> None:
    records = [some.note(n) for n in range(5)]
    log.append(*records)
    assert [one.id for one in log.entries()] == [one.id for one in records]
    assert len({one.time for one in log.entries()}) == 1


def test_pages_go_back_from_the_newest(log: Log) -> None:
    log.append(*(some.note(n, caller=f"c{n % 2}") for n in range(1, 26)))
    first = log.page(most=10)
    assert [one.sequence for one in first] == list(range(25, 15, -1))
    second = log.page(RecordFilter(before=first[-1].sequence), most=10)
    assert [one.sequence for one in second] == list(range(15, 5, -1))
    assert [one.sequence for one in log.page(RecordFilter(caller="c1"), most=2)] == [25, 23]
    assert log.page(RecordFilter(kind="verdict")) == []
    assert [one.sequence for one in log.entries(RecordFilter(first=24))] == [24, 25]
    assert len(list(log.entries(RecordFilter(until=first[0].time)))) == 0
    assert len(list(log.entries(RecordFilter(since=first[0].time)))) == 25


def test_any_text_passes_through(log: Log) -> None:
    said = "NUL \0, half a pair \ud800, both \ud83d\ude00, e\u0301, “quoted”\r\n\t"
    record = Record("note", {"question": said}, "caller \0\ud800 ü", "tag \0")
    log.append(record)
    entry = log.entry(record.id)
    assert entry.fields()["question"] == said.replace("\ud83d\ude00", "\U0001f600")
    assert entry.caller == "caller \ufffd\ufffd ü"
    assert log.verify(deep=True).whole
    log.eraser.subject(entry.caller)
    assert log.entry(record.id).fields() == {}


def test_a_draft_of_five_megabytes_is_recorded(log: Log) -> None:
    draft = Draft("A word and 12 weeks. " * 250_000)
    id = log.write(replace(some.VERDICT, draft=draft, attempts=(Attempt(draft),)))
    found = decision_of(log.entry(id)).verdict
    assert found is not None
    assert found.draft == draft
    assert log.verify().whole


def test_no_record_is_no_fault(log: Log) -> None:
    found = log.verify(deep=True)
    assert (found.whole, found.records, found.last) == (True, 0, 0)
    assert log.page() == []
    with pytest.raises(StoreError, match="audit show"):
        log.entry("nothing")


def test_a_clock_that_runs_back_does_not_take_the_log_with_it(place: str) -> None:
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    moments = iter(
        [at, at - timedelta(milliseconds=5), at - timedelta(minutes=5), at + timedelta(1)]
    )
    log = Log(Database.open(place, create=True), clock=lambda: next(moments))
    for n in range(4):
        log.append(some.note(n))
    found = list(log.entries())
    noon = "2026-05-01T12:00:00.000000Z"
    assert [one.time for one in found] == [noon, noon, noon, "2026-05-02T12:00:00.000000Z"]
    assert [one.clock for one in found] == ["", "", "2026-05-01T11:55:00.000000Z", ""]
    assert log.verify().whole
    log.close()
    log.database.close()


def test_masked_before_it_is_written(log: Log, place: str, tmp_path: Path) -> None:
    log.append(Record("note", {"question": "I am bob@example.org, +49 30 1234567"}, "alice@a.de"))
    (entry,) = log.page()
    assert entry.fields()["question"] == "I am xxx@xxxxxxx.xxx, +## ## #######"
    assert entry.fields()["masked"] == {"e-mail address": 1, "phone number": 1}
    assert entry.caller == "alice@a.de"  # a name to be found by
    for file in tmp_path.glob("s.db*"):
        assert b"bob@example" not in file.read_bytes()


def test_fields_can_be_left_out(place: str) -> None:
    settings = RecordSettings(omit_fields=("question", "texts", "who"))
    log = Log.open(place, settings, create=True)
    id = log.write(some.VERDICT, some.TRACE, Filing("alice", "case-1"))
    entry = log.entry(id)
    assert entry.not_stored == ("who", "question", "texts")
    assert "How long" not in entry.payload
    assert "Parental leave lasts" not in entry.payload
    assert (entry.caller, entry.tag) == ("", "")
    assert log.verify(deep=True).whole
    log.close()
    log.database.close()
    with pytest.raises(SettingsError, match="'nonsense'"):
        Log.open(place, RecordSettings(omit_fields=("nonsense",)))


def test_what_is_queued_is_written_in_the_end(place: str) -> None:
    log = Log.open(place, RecordSettings(durability="queued"), create=True)
    for n in range(50):
        log.append(some.note(n))
    log.close()
    assert log.verify().records == 50
    with pytest.raises(StoreError, match="closed"):
        log.append(some.note())
    log.database.close()


def stop_writes(log: Log) -> None:
    with log.database.writing() as connection:
        connection.execute(text("ALTER TABLE record_head RENAME TO elsewhere"))


def allow_writes(log: Log) -> None:
    with log.database.writing() as connection:
        connection.execute(text("ALTER TABLE elsewhere RENAME TO record_head"))


def test_a_store_that_fails_is_told_to_everyone_and_recovers(log: Log) -> None:
    log.append(some.note(1))
    stop_writes(log)

    def attempt(n: int) -> str:
        try:
            log.append(some.note(n))
        except StoreError as problem:
            return type(problem).__name__
        return "written"

    with ThreadPoolExecutor(8) as pool:
        told = set(pool.map(attempt, range(20)))
    assert told == {"StoreError"}
    allow_writes(log)
    log.append(some.note(2))
    assert log.verify().records == 2
    assert log.verify().whole


def test_a_queue_waits_for_the_store_and_refuses_more_meanwhile(place: str) -> None:
    log = Log.open(place, RecordSettings(durability="queued"), create=True)
    stop_writes(log)
    log.append(some.note(1))
    refused = threading.Event()
    for _ in range(200):
        try:
            log.append(some.note(2))
        except StoreError:
            refused.set()
            break
        threading.Event().wait(0.01)
    assert refused.is_set()
    allow_writes(log)
    for _ in range(300):
        if log.head().sequence:
            break
        threading.Event().wait(0.01)
    log.append(some.note(3))
    log.close()
    assert log.verify().whole
    assert {one.fields()["outcome"]["n"] for one in log.entries()} >= {1, 3}
    log.database.close()


def test_what_is_queued_and_cannot_be_written_is_told_at_the_end(place: str) -> None:
    log = Log.open(place, RecordSettings(durability="queued"), create=True)
    stop_writes(log)
    log.append(some.note(1))
    with pytest.raises(StoreError, match="1 records could not be written"):
        log.close()
    log.database.close()


def test_a_full_disk_is_told_and_recovers(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "s.db", create=True)
    log.append(some.note(1))
    with log.database.writing() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    large = Record("note", {"question": "x" * 1_000_000})
    with pytest.raises(StoreFull, match="Free some space"):
        log.append(large)
    with log.database.writing() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    log.append(some.note(2))
    assert log.verify().whole
    log.close()
    log.database.close()


def test_a_lost_connection_is_told_or_mended_and_loses_nothing(
    postgres: Postgres, postgres_url: str
) -> None:
    log = Log.open(postgres_url, create=True)
    name = postgres_url.rpartition("?")[0].rpartition("/")[2]
    acknowledged = []
    for n in range(30):
        if n % 10 == 5:
            postgres.cut(name)
        record = some.note(n)
        try:
            log.append(record)
        except StoreUnreachable:
            continue
        acknowledged.append(record.id)
    assert len(acknowledged) >= 27
    assert {one.id for one in log.entries()} >= set(acknowledged)
    assert log.verify().whole
    log.close()
    log.database.close()


def test_ids_are_in_order_and_their_own() -> None:
    ids = [new_id() for _ in range(1_000)]
    assert len(set(ids)) == 1_000
    assert {len(id) for id in ids} == {26}
    assert [id[:10] for id in ids] == sorted(id[:10] for id in ids)


def test_a_name_that_is_none_is_refused() -> None:
    for kind, field in (("Verdict", "a"), ("note", "two words"), ("note", "who"), ("note", "a\nb")):
        with pytest.raises(ValueError, match="not a valid name"):
            Record(kind, {field: 1})


def test_a_clock_that_jumped_forward_does_not_rule_later_times(place: str) -> None:
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    jumped = at + timedelta(days=1500)
    hours = [at, jumped, *(at + timedelta(hours=n) for n in (1, 2))]
    moments = iter(hours)
    log = Log(Database.open(place, create=True), clock=lambda: next(moments))
    for n in range(4):
        log.append(some.note(n))
    found = list(log.entries())
    assert [one.time for one in found] == [timestamp(moment) for moment in hours]
    assert [one.clock for one in found] == ["", "", timestamp(hours[2]), ""]
    assert [one.sequence for one in found] == [1, 2, 3, 4]
    verified = log.verify(deep=True)
    assert verified.whole
    assert (verified.steps_back, verified.first_step_back) == (1, 3)
    log.close()
    log.database.close()


def test_a_time_that_was_changed_after_sealing_is_a_fault(log: Log) -> None:
    for n in range(3):
        log.append(some.note(n))
    with log.database.writing() as connection:
        old = "2020-01-01T00:00:00.000000Z"
        changed = RECORDS.update().where(RECORDS.c.sequence == 2)
        connection.execute(changed.values(time=old, clock=old))
    assert not log.verify().whole
