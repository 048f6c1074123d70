"""The usage report sums up what was used, over processes and days, on both databases."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner

from suffice.access.quotas import Ledger, Totals, UsedBy, forget_user, usage_report
from suffice.cli import cli
from suffice.errors import StoreFull
from suffice.sql.database import Database

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
ADA, BOB = UsedBy("chat", "hr", "ada", "m1"), UsedBy("chat", "hr", "bob", "m2")
JOB = UsedBy("job", "", "", "m\x00\ud800")
ASKED = Totals(1, 0, 100, 20, 0.5, serve=1)


@pytest.fixture
def database(place: str) -> Iterator[Database]:
    opened = Database.open(place, create=True)
    yield opened
    opened.close()


def test_totals_by_every_dimension_and_day(database: Database, place: str) -> None:
    day = [NOON]
    first, second = (Ledger(database, lambda: day[0], pause=3_600) for _ in range(2))
    for ledger in (first, second):
        ledger.add(ADA, ASKED)
        ledger.add(ADA, Totals(1, 1))
        ledger.flush()
    day[0] += timedelta(days=1)
    second.add(BOB, Totals(1, withhold=2))
    second.add(JOB, ASKED)
    for ledger in (first, second):
        ledger.close()
    ada = Totals(4, 2, 200, 40, 1.0, serve=2)
    assert usage_report(database, "user") == [
        ("ada", ada),
        ("", ASKED),
        ("bob", Totals(1, withhold=2)),
    ]
    assert [name for name, _ in usage_report(database, "model")] == ["m1", "?", "m2"]
    assert dict(usage_report(database, "team"))["hr"] == ada + Totals(1, withhold=2)
    assert [name for name, _ in usage_report(database, "key", "2026-11-17")] == ["chat", "job"]
    assert usage_report(database, "key", until="2026-11-17") == [("chat", ada)]

    def said(*options: str) -> str:
        whole = ("usage", "--store", place, "--since", "2026-11-01", *options)
        return CliRunner().invoke(cli, whole, catch_exceptions=False, standalone_mode=False).stdout

    shown = json.loads(said("--by", "user", "--json"))
    assert [row["user"] for row in shown["rows"]] == ["ada", None, "bob"]
    assert (shown["total"]["requests"], shown["total"]["withhold"]) == (6, 2)
    assert "2 SERVE, 2 WITHHOLD" in " ".join(said("--by", "team").split())
    assert "No requests since 2027-01-01" in said("--since", "2027-01-01")
    forget_user(database, "ada")
    assert usage_report(database, "user") == [
        ("", ada + ASKED),
        ("bob", Totals(1, withhold=2)),
    ]


def test_what_cannot_be_written_is_kept_for_the_next_time(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger(database, lambda: NOON, pause=3_600)
    ledger.add(ADA, ASKED)

    @contextmanager
    def full() -> Iterator[None]:
        raise StoreFull("The disk is full.")
        yield

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING, "suffice.access"):
        patch.setattr(Database, "writing", lambda _: full())
        ledger.flush()
    assert "The disk is full" in caplog.text
    ledger.add(ADA, ASKED)
    ledger.close()
    assert usage_report(database, "key") == [("chat", ASKED + ASKED)]


def test_totals_are_written_without_being_asked_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()
    ledger = Ledger(database, lambda: NOON, pause=0.01)
    write = ledger._write

    def written(taken: object) -> None:
        write(taken)  # type: ignore[arg-type]
        done.set()

    monkeypatch.setattr(ledger, "_write", written)
    ledger.add(ADA, ASKED)
    assert done.wait(60)
    assert usage_report(database, "key") == [("chat", ASKED)]
    ledger.close()
