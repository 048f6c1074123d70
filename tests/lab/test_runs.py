"""Runs of the red team as records: figures by attack, and no text of a case."""

from __future__ import annotations

from pathlib import Path

from suffice.lab.golden import of_redteam, redteam_runs
from suffice.log.log import Log

CASE = {"attack": "swap", "what": "18", "attack_result": {"question": "How long is leave?"}}
REPORT = {
    "total": {"cases": 4, "right": 3, "twins_served": 2},
    "attacks": {"swap": {"cases": 4, "right": 3, "twins_served": 2}, "none": {"cases": 0}},
    "cases": [CASE],
    "documents": {"documents": 1},
    "setup": {"id": "setup-1"},
    "seed": 0,
    "most": 7,
    "run": {},
}


def test_the_figures_of_a_run_are_recorded(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "s.db", create=True)
    assert redteam_runs(log) == []
    log.append(of_redteam(REPORT, "ci"))
    (run,) = redteam_runs(log)
    assert (run.by, run.right_share, run.served_share) == ("ci", 0.75, 0.5)
    assert run.attacks["swap"]["right"] == 3
    assert "How long is leave?" not in log.entry(run.id).payload
    log.close()
    log.database.close()
