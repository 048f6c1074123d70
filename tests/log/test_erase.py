"""Erased content is gone, the erasure is recorded, and the chain stays verifiable."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from suffice.log import erasure as erase
from suffice.log.decision import Filing
from suffice.log.log import Log
from suffice.log.setup import Setup
from suffice.log.stored import RecordFilter
from suffice.sql.database import Database
from tests.log import examples as some
from tests.log.commitments import proves

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def log(place: str) -> Iterator[Log]:
    """One record per day."""
    days = (START + timedelta(days=n) for n in range(1_000))
    opened = Log(Database.open(place, create=True), clock=lambda: next(days))
    yield opened
    opened.close()
    opened.database.close()


def test_a_subject_is_erased_wherever_it_asked_or_was_asked_about(log: Log) -> None:
    log.append(some.note(1, caller="alice"))
    log.append(some.note(2, caller="bob", tag="alice"))
    log.append(some.note(3, caller="bob"))
    done = log.eraser.subject("alice", reason="asked to", by="officer")
    assert done.records == 2
    first, second, third, erasure = log.entries()
    assert first.fields() == second.fields() == {}
    assert (first.caller, second.caller, second.tag) == ("", "", "")
    assert first.erased == ("who", "question", "outcome")
    assert third.fields()["question"] == "Question 3?"
    assert (erasure.id, erasure.kind, erasure.caller) == (done.ids[0], "erasure", "officer")
    assert erasure.fields() == {
        "why": "subject", "reason": "asked to", "records": [[1, 2]], "erased": None, "count": 2,
    }  # fmt: skip
    assert log.verify(deep=True).whole
    assert log.verify().erased == 2


def test_whom_an_erasure_was_about_is_not_stored_but_can_be_shown(log: Log) -> None:
    log.append(some.note(1, caller="alice"))
    (id,) = log.eraser.subject("alice").ids
    erasure = log.entry(id)
    assert "alice" not in erasure.payload
    assert erasure.not_stored == ("subject",)
    assert proves(erasure.payload, "subject", "alice")
    assert not proves(erasure.payload, "subject", "bob")


def test_nothing_of_it_is_left_in_the_file(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "s.db", create=True)
    for n in range(50):
        log.append(some.note(n, caller="secret-caller" if n % 2 else "other"))
    assert any(b"secret-caller" in file.read_bytes() for file in tmp_path.iterdir())
    log.eraser.subject("secret-caller")
    for file in tmp_path.iterdir():
        data = file.read_bytes()
        assert b"secret-caller" not in data
        assert b"Question 1?" not in data
    assert b"Question 2?" in (tmp_path / "s.db").read_bytes()
    log.close()
    log.database.close()


def test_to_erase_again_erases_nothing(log: Log) -> None:
    log.append(some.note(1, caller="alice"))
    assert log.eraser.subject("alice").records == 1
    again = log.eraser.subject("alice")
    assert (again.records, again.ids) == (0, ())
    assert log.eraser.subject("nobody").records == 0
    assert log.head().sequence == 2


def test_old_records_lose_what_they_say(log: Log) -> None:
    log.append(some.note(1))
    log.append(some.note(2))
    log.append(some.note(3))
    done = log.eraser.before(START + timedelta(days=2))
    assert done.records == 2
    assert [bool(one.fields()) for one in log.entries(RecordFilter(kind="note"))] == [
        False,
        False,
        True,
    ]
    assert log.verify(deep=True).whole


def test_only_some_fields_may_go_and_the_rest_stays_bound(log: Log) -> None:
    id = log.write(some.VERDICT, some.TRACE, Filing("alice"))
    later = START + timedelta(days=900)
    assert log.eraser.before(later, names=["question", "texts"]).records == 1
    entry = log.entry(id)
    assert entry.erased == ("question", "texts")
    assert entry.caller == "alice"
    assert entry.fields()["outcome"]["action"] == "CAVEAT"
    assert log.verify(deep=True).whole
    assert log.eraser.before(later, names=["question", "texts"]).records == 0
    assert log.eraser.before(later, names=["drafts"]).records == 1
    assert log.verify().whole
    assert log.eraser.subject("alice").records == 1
    assert log.entry(id).fields() == {}
    assert log.verify().whole


def test_only_some_kinds_may_go(log: Log) -> None:
    log.append(some.note(1))
    log.write(some.VERDICT)
    assert log.eraser.before(START + timedelta(days=900), kinds=["verdict"]).records == 1
    assert next(iter(log.entries())).fields() != {}


def test_setups_and_erasures_stay(log: Log) -> None:
    log.write(some.VERDICT, filing=Filing("alice", setup=Setup().record()))
    log.eraser.subject("alice", by="alice")
    log.eraser.subject("alice")
    log.eraser.before(START + timedelta(days=900))
    kept = {entry.kind for entry in log.entries() if entry.fields()}
    assert kept == {"setup", "erasure"}
    assert log.verify().whole


def test_many_are_erased_in_portions_each_with_its_record(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase, "_AT_ONCE", 20)
    monkeypatch.setattr(erase, "_PORTION", 7)
    log.append(*(some.note(n, caller="alice" if n % 3 else "bob") for n in range(100)))
    done = log.eraser.subject("alice")
    assert done.records == 66
    assert len(done.ids) == 4
    assert not [one for one in log.entries() if one.caller == "alice"]
    assert log.verify().whole
