"""The bench of the site at small size, and in the timing lane the log at full size."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.commands.site import lines
from benchmarks.site import WANTED, Plan, bench_site
from benchmarks.site_log import FEW, filled, milliseconds
from suffice.log.log import Log
from suffice.log.verify import verify
from suffice.review.decisions import DecisionFilter, Decisions


@pytest.mark.timing
def test_it_measures_the_log_and_checks_beside_people() -> None:
    figures = bench_site(Plan(200, people=2, looks=0.05, seconds=1, rounds=1, clients=1))
    assert figures["wanted"] == WANTED
    assert figures["log"]["pages"]["all"]["many_ms"] > 0
    found = figures["browsing"]
    assert found["pages"] > 0
    assert set(found["statuses"]) == {"200"}
    assert found["p95_times"] == pytest.approx(
        found["beside_p95_ms"][0] / found["alone_p95_ms"][0], abs=0.01
    )
    assert any("people" in line for line in lines(figures))


def test_the_records_of_the_bench_are_a_log(tmp_path: Path) -> None:
    store = filled(tmp_path / "s.db", 300)
    assert verify(store.database, deep=True).whole
    assert len(Decisions(Log(store.database)).page(DecisionFilter(), most=1_000).rows) == 300
    store.database.close()


@pytest.mark.timing
def test_the_first_page_of_a_long_log_takes_hardly_longer(tmp_path: Path) -> None:
    few, many = (filled(tmp_path / f"{n}.db", n) for n in (FEW, 100 * FEW))
    short, long = milliseconds(few), milliseconds(many)
    for store in (few, many):
        store.database.close()
    slower = {name: long[name] / short[name] for name in short}
    assert max(slower.values()) < 3, slower
