"""Usage is counted across processes and restarts; no window exceeds its limit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from suffice.access.quotas import Left, Over, Usage
from suffice.log.tables import USAGE
from suffice.sql.database import Database
from tests.log.counting import take, taken
from tests.processes import FORKS, PATIENCE, ended, started

A_MINUTE = {"requests_per_minute": 5.0}


def rows(database: Database) -> int:
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(USAGE)) or 0


def test_of_many_at_once_as_many_come_in_as_may(place: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        opened = [Database.open(place, create=True) for _ in range(2)]
        desks = [Usage(one, lambda: 1_000.5) for one in opened]
        calls = [pool.submit(taken, desks[n % 2], "a", A_MINUTE) for n in range(20)]
        results = [call.result() for call in calls]
        assert taken(desks[0], "b", A_MINUTE) is None
    assert results.count(None) == 5
    assert set(results) == {None, Over("requests_per_minute", 60.5, "a")}
    for one in opened:
        one.close()


def test_processes_count_together(tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    Database.open(place, create=True).close()
    told = FORKS.Queue()
    both = [started(take, place, 6, {"requests_per_minute": 7.0}, told) for _ in range(2)]
    assert sum(told.get(timeout=PATIENCE) for _ in both) == 7
    assert [ended(process) for process in both] == [0, 0]


def test_the_wait_is_until_enough_is_past(place: str) -> None:
    now = [10_000.0]
    database = Database.open(place, create=True)
    desk, limits = Usage(database, lambda: now[0]), {"tokens_per_minute": 100.0}
    desk.add({"a": limits}, 1, 0.0)
    now[0] += 10
    desk.add({"a": limits}, 150, 0.0)
    now[0] += 10
    over = taken(desk, "a", limits)
    assert over == Over("tokens_per_minute", 51.0, "a")  # that the one token goes helps nobody
    now[0] += 50.9
    assert taken(desk, "a", limits) is not None
    now[0] += 0.2
    assert taken(desk, "a", limits) is None
    database.close()


def test_only_what_is_held_to_is_written_and_the_past_is_forgotten(place: str) -> None:
    now = [0.0]
    database = Database.open(place, create=True)
    desk = Usage(database, lambda: now[0])
    desk.add({"a": A_MINUTE}, 9, 0.1)
    assert rows(database) == 0
    for _ in range(200):
        now[0] += 60
        assert taken(desk, "a", {**A_MINUTE, "cost_per_day": 1e9}) is None
    assert rows(database) <= 2 + 200 * 60 // 600 + 1
    now[0] += 100_000
    assert taken(desk, "a", {**A_MINUTE, "cost_per_day": 1e9}) is None
    assert rows(database) == 2
    database.close()


@settings(max_examples=30, deadline=None)
@given(steps=st.lists(st.floats(0, 40), min_size=1, max_size=25), most=st.integers(1, 4))
def test_no_minute_holds_more_than_the_limit(
    tmp_path_factory: pytest.TempPathFactory, steps: list[float], most: int
) -> None:
    now = [5_000.0]
    database = Database.open(tmp_path_factory.mktemp("usage") / "s.db", create=True)
    desk = Usage(database, lambda: now[0])
    times: list[float] = []
    for step in steps:
        now[0] += step
        over = taken(desk, "a", {"requests_per_minute": float(most)})
        if over is None:
            times.append(now[0])
        else:
            now[0] += over.wait  # who waits as told comes in
            assert taken(desk, "a", {"requests_per_minute": float(most)}) is None
            times.append(now[0])
    for one in times:
        assert sum(one - 60 < other <= one for other in times) <= most
    database.close()


def test_a_request_counts_for_its_key_and_its_team_or_for_neither(place: str) -> None:
    now = [50_000_000.0]
    database = Database.open(place, create=True)
    desk = Usage(database, lambda: now[0])
    one = {"a": {"requests_per_day": 10.0}, "team:hr": {"requests_per_month": 3.0}}
    other = {"b": {"requests_per_day": 10.0}, "team:hr": {"requests_per_month": 3.0}}
    assert desk.take(one).left == (
        Left("requests_per_day", 10.0, 9.0, 86_400.0),
        Left("requests_per_month", 3.0, 2.0, 30 * 86_400.0),
    )
    assert [desk.take(quotas).over for quotas in (other, one)] == [None, None]
    full = desk.take(other)
    assert full.over is not None
    assert (full.over.name, full.over.holder) == ("requests_per_month", "team:hr")
    assert [left.remaining for left in full.left] == [9.0, 0.0]  # `b` was not counted again
    now[0] += full.over.wait
    assert desk.take(other).over is None
    desk.add({"a": {"tokens_per_month": 100.0}, "team:hr": {"requests_per_month": 3.0}}, 60, 0.0)
    assert [left.remaining for left in desk.take({"a": {"tokens_per_month": 100.0}}).left] == [40]
    database.close()
