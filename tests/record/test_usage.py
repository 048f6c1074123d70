"""Usage is counted across processes and restarts; no window exceeds its limit."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from suffice.access.quotas import Over, Usage
from suffice.log.tables import USAGE
from suffice.sql.database import Database

A_MINUTE = {"requests_per_minute": 5.0}


def rows(database: Database) -> int:
    with database.reading() as connection:
        return connection.scalar(select(func.count()).select_from(USAGE)) or 0


def test_of_many_at_once_as_many_come_in_as_may(place: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        opened = [Database.open(place, create=True) for _ in range(2)]
        desks = [Usage(one, lambda: 1_000.5) for one in opened]
        calls = [pool.submit(desks[n % 2].take, "a", A_MINUTE) for n in range(20)]
        results = [call.result() for call in calls]
        assert desks[0].take("b", A_MINUTE) is None
    assert results.count(None) == 5
    assert set(results) == {None, Over("requests_per_minute", 60.5)}
    for one in opened:
        one.close()


def _takes(place: str, times: int, told: multiprocessing.Queue[int]) -> None:
    desk = Usage(Database.open(place))
    told.put(sum(desk.take("a", {"requests_per_minute": 7.0}) is None for _ in range(times)))


def test_processes_count_together(tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    Database.open(place, create=True).close()
    spawn = multiprocessing.get_context("spawn")
    told = spawn.Queue()
    both = [spawn.Process(target=_takes, args=(place, 6, told)) for _ in range(2)]
    for one in both:
        one.start()
    assert sum(told.get(timeout=300) for _ in both) == 7
    for one in both:
        one.join(30)


def test_the_wait_is_until_enough_is_past(place: str) -> None:
    now = [10_000.0]
    database = Database.open(place, create=True)
    desk, limits = Usage(database, lambda: now[0]), {"tokens_per_minute": 100.0}
    desk.add("a", limits, 1, 0.0)
    now[0] += 10
    desk.add("a", limits, 150, 0.0)
    now[0] += 10
    over = desk.take("a", limits)
    assert over == Over("tokens_per_minute", 51.0)  # that the one token goes helps nobody
    now[0] += 50.9
    assert desk.take("a", limits) is not None
    now[0] += 0.2
    assert desk.take("a", limits) is None
    database.close()


def test_only_what_is_held_to_is_written_and_the_past_is_forgotten(place: str) -> None:
    now = [0.0]
    database = Database.open(place, create=True)
    desk = Usage(database, lambda: now[0])
    desk.add("a", A_MINUTE, 9, 0.1)
    assert rows(database) == 0
    for _ in range(200):
        now[0] += 60
        assert desk.take("a", {**A_MINUTE, "cost_per_day": 1e9}) is None
    assert rows(database) <= 2 + 200 * 60 // 600 + 1
    now[0] += 100_000
    assert desk.take("a", {**A_MINUTE, "cost_per_day": 1e9}) is None
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
    taken: list[float] = []
    for step in steps:
        now[0] += step
        over = desk.take("a", {"requests_per_minute": float(most)})
        if over is None:
            taken.append(now[0])
        else:
            now[0] += over.wait  # who waits as told comes in
            assert desk.take("a", {"requests_per_minute": float(most)}) is None
            taken.append(now[0])
    for one in taken:
        assert sum(one - 60 < other <= one for other in taken) <= most
    database.close()
