"""The simulated queue agrees with closed formulas, and the plan with its own figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.scale import BUSY, SPREAD, Measured, million, plan, simulate

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_one_machine_waits_as_the_formula_of_pollaczek_and_khinchine_says(load: float) -> None:
    wait = load * (1 + SPREAD**2) / (2 * (1 - load))
    assert simulate(load, 1, 200_000, 10**9)["mean"] == pytest.approx(1 + wait, rel=0.05)


def test_more_machines_behind_one_queue_wait_less() -> None:
    p95 = [simulate(0.8, machines, 20_000, 64)["p95"] for machines in (1, 4, 16)]
    assert p95 == sorted(p95, reverse=True)
    assert p95[0] > 2 * p95[-1]


def test_an_overloaded_queue_refuses_the_excess_and_no_more() -> None:
    assert simulate(2.0, 1, 20_000, 64)["refused"] == pytest.approx(0.5, abs=0.02)
    assert simulate(0.5, 1, 20_000, 64)["refused"] == 0


def test_the_plan() -> None:
    found = Measured(4.0, 2, 3.0, 500.0, 10_000, {})
    assert plan(found, 100)["cores"] == 75  # 2 a second and core, two thirds busy
    assert plan(found, 100)["machines"] == 5
    assert plan(found, 100)["chains"] == 1
    assert plan(found, 10_000)["chains"] == 30
    assert pytest.approx(2 / 3) == BUSY
    assert million(found, 1.0)["core_hours"] == 139
    assert million(found, 3.0)["core_hours"] == 417


def test_the_results_that_it_reads_are_there() -> None:
    found = Measured.of(RESULTS)
    assert found.per_core > 0
    assert 0 < found.overload["refused"] < 1
