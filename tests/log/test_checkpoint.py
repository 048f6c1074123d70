"""Checkpoints reveal a truncated or rebuilt tail of the log."""

from __future__ import annotations

import json
import logging
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from sqlalchemy import select, text, update

from suffice.errors import ExtraMissing, StoreError, StoreUnreachable
from suffice.log.chain import link_of
from suffice.log.checkpoints import (
    Checkpoint,
    checkpoint_of,
    destination,
    genuine,
    make_key,
    read_key,
    read_public,
    sign,
)
from suffice.log.log import Log
from suffice.log.record import payload
from suffice.log.tables import HEAD, RECORDS
from suffice.settings import RecordSettings, SignSettings
from suffice.sql.database import Database
from tests.log import examples as some


@pytest.fixture
def key(tmp_path: Path) -> str:
    path = tmp_path / "key"
    make_key(path)
    return str(path)


@pytest.fixture
def log(place: str) -> Iterator[Log]:
    opened = Log.open(place, create=True)
    yield opened
    opened.close()
    opened.database.close()


def signed(log: Log, key: str, *to: str) -> Checkpoint:
    point = replace(log.signer, settings=SignSettings(key, to)).write(always=True)
    assert point is not None
    return point


def rebuild(log: Log, at: int, *, last: int | None = None) -> None:
    """Rebuild the log from a record on, as an attacker with full write access could."""
    with log.database.writing() as connection:
        if last is not None:
            connection.execute(RECORDS.delete().where(RECORDS.c.sequence > last))
        rows = connection.execute(select(RECORDS).order_by(RECORDS.c.sequence)).all()
        link = rows[at - 2].link.encode() if at > 1 else b""
        for row in rows[at - 1 :]:
            said = payload({"who": ["", ""], "question": f"Another {row.sequence}?"})
            link = link_of(
                link, row.sequence, row.id, row.time, row.clock, row.kind, said.root, said.seal
            )
            changed = {"root": said.root, "seal": said.seal, "payload": said.text}
            connection.execute(
                update(RECORDS)
                .where(RECORDS.c.sequence == row.sequence)
                .values(link=link.decode(), caller=None, tag=None, **changed)
            )
        end = rows[-1]
        connection.execute(update(HEAD).values(sequence=end.sequence, link=link.decode()))


def test_a_checkpoint_of_a_log_as_it_is_fits(log: Log, key: str) -> None:
    points = []
    for n in range(6):
        log.append(some.note(n))
        points.append(signed(log, key))
    found = log.verify(points, key=read_public(f"{key}.pub"))
    assert found.whole
    assert found.checkpoints == 6
    assert [point.sequence for point in points] == [1, 2, 3, 4, 5, 6]
    assert points[-1].link == log.head().link


@pytest.mark.parametrize("at", [2, 5, 9])
def test_a_rebuilt_tail_is_seen_and_placed(log: Log, key: str, at: int) -> None:
    points = []
    for n in range(1, 11):
        log.append(some.note(n))
        points.append(signed(log, key))
    rebuild(log, at)
    assert log.verify().whole  # nothing inside the store could tell
    chosen = points[::3]  # of records 1, 4, 7 and 10
    found = log.verify(chosen)
    agreed = max(point.sequence for point in chosen if point.sequence < at)
    assert {fault.what for fault in found.faults} == {"checkpoint"}
    assert found.faults[0].sequence == agreed + 1
    assert f"rebuilt after record {agreed}" in found.faults[0].message


def test_a_tail_cut_off_with_the_head_is_seen(log: Log, key: str) -> None:
    log.append(*(some.note(n) for n in range(8)))
    point = signed(log, key)
    rebuild(log, 6, last=5)
    with log.database.reading() as connection:
        assert connection.scalar(select(HEAD.c.sequence)) == 5
    found = log.verify([point])
    assert found.faults[-1].sequence == 6
    assert "truncated" in found.faults[-1].message


def test_a_checkpoint_that_was_changed_or_is_anothers_is_told(
    log: Log, key: str, tmp_path: Path
) -> None:
    log.append(some.note())
    point = signed(log, key)
    assert genuine(point)
    for changed in (
        replace(point, sequence=7),
        replace(point, time="2020-01-01T00:00:00.000000Z"),
        replace(point, signature="AAAA"),
        replace(point, key="ed25519:nonsense"),
    ):
        assert not genuine(changed)
        (fault,) = log.verify([changed]).faults
        assert "signature" in fault.message
    make_key(tmp_path / "other")
    other = sign(point, read_key(tmp_path / "other"))
    assert log.verify([other]).whole  # who signed is only known to who knows the key
    (fault,) = log.verify([other], key=read_public(f"{key}.pub")).faults
    assert "another key" in fault.message
    foreign = sign(replace(point, log="another"), read_key(key))
    (fault,) = log.verify([foreign]).faults
    assert "another log" in fault.message


def test_keys_are_for_their_owner_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "key"
    public = make_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_public(tmp_path / "key.pub") == read_public(public) == public
    with pytest.raises(StoreError, match="never overwritten"):
        make_key(path)
    (tmp_path / "nonsense").write_text("nonsense")
    for wrong in (tmp_path / "nonsense", tmp_path / "nowhere", tmp_path / "key.pub"):
        with pytest.raises(StoreError, match="audit key"):
            read_key(wrong)
    with pytest.raises(StoreError, match=r"\.pub"):
        read_public(path)
    with pytest.raises(StoreError, match=r"\.pub"):
        read_public(tmp_path / "nowhere")


def test_a_missing_extra_is_named(log: Log, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append(some.note())
    point = signed(log, key)
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(ExtraMissing, match=r"suffice\[record\]"):
        log.verify([point])
    assert log.verify().whole  # without checkpoints nothing is needed


# Where they are kept


@contextmanager
def server() -> Iterator[tuple[str, list[str]]]:
    """Stores posted checkpoints and returns them."""
    kept: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(200)
            self.end_headers()

        def do_GET(self) -> None:
            body = "[" + ",".join(kept) + "]" if self.path == "/list" else "\n".join(kept)
            self.send_response(404 if self.path == "/nothing" else 200)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *args: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{running.server_port}", kept
    finally:
        running.shutdown()
        running.server_close()


def test_they_are_kept_in_a_file_behind_a_url_and_in_another_store(
    log: Log, key: str, tmp_path: Path
) -> None:
    log.append(some.note(1))
    with server() as (url, _):
        places = [str(tmp_path / "points.jsonl"), f"{url}/lines", str(tmp_path / "other.db")]
        one = signed(log, key, *places)
        log.append(some.note(2))
        other = signed(log, key, *places)
        for where in (*places, f"{url}/list"):
            assert list(destination(where).load()) == [one, other]
        with pytest.raises(StoreUnreachable):
            destination(f"{url}/nothing").load()


def test_a_place_that_cannot_be_used_is_told(log: Log, key: str, tmp_path: Path) -> None:
    log.append(some.note())
    gone = str(tmp_path / "no" / "such" / "folder")
    with pytest.raises(StoreError, match=r"record\.checkpoint\.destinations"):
        signed(log, key, gone)
    with pytest.raises(StoreUnreachable):
        signed(log, key, "http://127.0.0.1:1/")
    with pytest.raises(StoreError):
        destination(gone).load()
    nonsense = tmp_path / "nonsense"
    nonsense.write_text('{"log": 1}\n')
    with pytest.raises(StoreError, match="not a valid checkpoint"):
        destination(str(nonsense)).load()
    with pytest.raises(StoreError, match="not a valid checkpoint"):
        checkpoint_of("[]", "somewhere")


# When they are written


def lines(path: Path) -> list[int]:
    found = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["sequence"] for line in found]


def test_one_is_written_after_so_many_records(place: str, key: str, tmp_path: Path) -> None:
    to = tmp_path / "points.jsonl"
    settings = RecordSettings(
        checkpoint=SignSettings(key, (str(to),), every_records=5, every_minutes=0)
    )
    log = Log.open(place, settings, create=True)
    for n in range(4):
        log.append(some.note(n))
    log.close()
    assert lines(to) == []
    other = Log(log.database, settings)  # another process goes on where this one stopped
    other.append(some.note(), some.note(), some.note())
    other.close()
    assert lines(to) == [7]
    assert other.verify(destination(str(to)).load()).whole
    log.database.close()


def test_one_is_written_after_so_many_minutes(place: str, key: str, tmp_path: Path) -> None:
    to = tmp_path / "points.jsonl"
    settings = RecordSettings(
        checkpoint=SignSettings(key, (str(to),), every_records=0, every_minutes=10)
    )
    moment = [datetime(2026, 1, 1, tzinfo=UTC)]
    database = Database.open(place, create=True)

    def append_after(minutes: float) -> list[int]:
        moment[0] += timedelta(minutes=minutes)
        log = Log(database, settings, clock=lambda: moment[0])
        log.append(some.note())
        log.close()
        return lines(to)

    assert append_after(0) == [1]
    assert append_after(5) == [1]
    assert append_after(6) == [1, 3]
    assert append_after(60 * 24 * 1500) == [1, 3, 4]  # the clock jumps forward
    assert append_after(-60 * 24 * 1500) == [1, 3, 4, 5]  # and is corrected
    assert append_after(5) == [1, 3, 4, 5]
    database.close()


def test_no_answer_waits_for_a_place_that_fails_and_it_is_tried_again(
    place: str, key: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "later"
    to = folder / "points.jsonl"
    settings = RecordSettings(
        checkpoint=SignSettings(key, (str(to),), every_records=1, every_minutes=0)
    )
    log = Log.open(place, settings, create=True)
    with caplog.at_level(logging.WARNING, "suffice.record"):
        log.append(some.note(1))
        log.close()
    assert "Failed to write a checkpoint" in caplog.text
    assert log.verify().records == 1
    folder.mkdir()
    assert log.signer.write() is not None  # it is still due
    assert log.signer.write() is None
    assert lines(to) == [1]
    log.database.close()


def test_an_empty_log_has_none(log: Log, key: str) -> None:
    assert replace(log.signer, settings=SignSettings(key)).write(always=True) is None
    with log.database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM checkpoints")).scalar() == 0
