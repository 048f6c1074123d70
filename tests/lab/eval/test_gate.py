"""The gate bench on a few hand-written rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from suffice.cli import cli
from suffice.lab.eval.figures import area_under_risk, coverage_at_risk, risk_coverage
from suffice.lab.eval.gate import NAMES, WITHOUT

LEAVE = "Parental leave is 20 weeks at full pay. Apply at least 8 weeks before it starts."
TRAVEL = "Trains are booked through the travel desk. First class needs the approval of a director."
ROWS = [
    ("leave", "How long is parental leave?", [LEAVE], True),
    ("leave", "How long is parental leave?", [TRAVEL], False),
    ("leave", "How many weeks before parental leave must I apply?", [TRAVEL, LEAVE], True),
    ("leave", "What does the canteen serve on Fridays?", [LEAVE, TRAVEL], False),
    ("travel", "Who approves first class?", [TRAVEL], True),
    ("travel", "Who approves first class?", [LEAVE], False),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    lines = (
        json.dumps({"set": name, "question": asked, "evidence": held, "sufficient": enough})
        for name, asked, held, enough in ROWS
    )
    file.write_text("\n".join(lines), "utf-8")
    return file


def test_every_policy_is_measured_on_every_set(data: Path) -> None:
    run = CliRunner().invoke(cli, ["bench", "gate", str(data), "--policy", "all", "--json"])
    assert run.exit_code == 0, run.output
    figures = json.loads(run.stdout)
    assert set(figures["policies"]) == {*NAMES, WITHOUT}
    for name, policy in figures["policies"].items():
        assert set(policy["sets"]) == {"leave", "travel"}
        for row in policy["sets"].values():
            assert {"auroc", "balanced_accuracy", "open_rate", "coverage_at_5", "aurc"} <= set(row)
            assert ("learned_minus" in row) == (name != "learned")
    assert figures["policies"]["learned"]["sets"]["travel"]["auroc"] == 1


def test_one_policy_is_shown_as_a_table(data: Path) -> None:
    run = CliRunner().invoke(cli, ["bench", "gate", str(data), "--policy", "tiers"])
    assert run.exit_code == 0, run.output
    assert "tiers" in run.output
    assert "mean of sets" in run.output
    assert "learned  " not in run.output


def test_a_policy_that_is_none_is_refused(data: Path) -> None:
    run = CliRunner().invoke(cli, ["bench", "gate", str(data), "--policy", "coin"])
    assert run.exit_code != 0
    assert "unknown policy 'coin'" in run.output


def test_plots_are_written_and_do_not_differ_between_runs(data: Path, tmp_path: Path) -> None:
    plots = ("gate-risk-coverage", "gate-threshold")
    names = {f"{plot}{end}" for plot in plots for end in (".png", ".svg")}
    texts = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        arguments = ["bench", "gate", str(data), "--policy", "tiers", "--plots", str(folder)]
        assert CliRunner().invoke(cli, arguments).exit_code == 0
        assert {file.name for file in folder.iterdir()} == names
        texts.append((folder / "gate-threshold.svg").read_text())
    assert texts[0] == texts[1]


rows = st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.booleans()), min_size=1)


@given(rows)
def test_the_area_does_not_depend_on_the_order_of_ties(found: list[tuple[float, bool]]) -> None:
    scores, positive = np.array([s for s, _ in found]), np.array([p for _, p in found])
    back = area_under_risk(scores[::-1], positive[::-1])
    assert back == pytest.approx(area_under_risk(scores, positive))
    coverage, risk = risk_coverage(scores, positive)
    assert coverage[-1] == 1
    assert risk[-1] == pytest.approx((~positive).mean())
    assert ((risk >= 0) & (risk <= 1)).all()


def test_the_area_of_a_perfect_order_is_least() -> None:
    positive = np.array([True, True, False, False])
    best = area_under_risk(np.array([0.9, 0.8, 0.2, 0.1]), positive)
    worst = area_under_risk(np.array([0.1, 0.2, 0.8, 0.9]), positive)
    assert best == pytest.approx((0 + 0 + 1 / 3 + 2 / 4) / 4)
    assert worst == pytest.approx((1 + 1 + 2 / 3 + 2 / 4) / 4)
    assert coverage_at_risk(np.array([0.9, 0.8, 0.2, 0.1]), positive, 0.05) == 0.5
