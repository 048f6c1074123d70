"""`suffice calibrate`, and the decisions that its thresholds make."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import LabelsError, StaleThresholds
from suffice.log.log import Log

HANDBOOK = str(Path(__file__).parents[2] / "src" / "suffice" / "handbook")
QUESTION = "How many days per week may I work remotely?"


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli, [*arguments], standalone_mode=False, terminal_width=120)
    if done.exception is not None:
        raise done.exception
    return int(done.return_value or 0), done.stdout


def write(path: Path, wrong: int, more: dict[str, Any] | None = None) -> str:
    """Rows of which the unsure ones are wrong."""
    rows = [
        {
            "question": f"{n}?",
            "correct": n >= wrong,
            "scores": {"gate": 0.9, "confidence": 0.4 if n < wrong else 0.6 + n % 40 / 100},
            **(more or {}),
        }
        for n in range(240)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_from_labels_to_a_record_that_names_the_certificate(tmp_path: Path) -> None:
    labels, out = write(tmp_path / "labels.jsonl", 60), tmp_path / "thresholds.json"
    code, said = run(
        "calibrate", labels, "--max-error", ".1", "--out", str(out),
        "--report", str(tmp_path / "report"), "--quiet",
    )  # fmt: skip
    assert code == 0
    assert "Certified: at most 0.1 of the served answers are wrong, with 0.95 confidence." in said
    assert "published" in said
    tree = json.loads(out.read_text(encoding="utf-8"))
    assert 0.4 < tree["thresholds"]["confidence"] <= 0.6
    assert tree["n"] == 240
    assert 0 < len(tree["reference"]) <= 240
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert tree["id"] in page
    assert (tmp_path / "report" / "report.png").read_bytes().startswith(b"\x89PNG")

    config, store = tmp_path / "suffice.yaml", str(tmp_path / "s.db")
    config.write_text(f"verdict: {{thresholds_file: {out}}}\n")
    own = ("--store", store, "--docs", HANDBOOK, "--config", str(config), "--json")
    code, said = run("ask", QUESTION, *own)
    assert code == 0
    log = Log.open(store)
    try:
        fields = log.entry(json.loads(said)["record"]).fields()
    finally:
        log.close()
        log.database.close()
    assert fields["thresholds"]["certificate"] == tree["id"]
    config.write_text(
        f"verdict: {{thresholds_file: {out}}}\nchecks: {{literals: false}}\n", encoding="utf-8"
    )
    with pytest.raises(StaleThresholds, match="made for the settings"):
        run("ask", QUESTION, *own)


def test_nothing_certified_is_exit_code_2(tmp_path: Path) -> None:
    labels, out = write(tmp_path / "labels.jsonl", 60), tmp_path / "thresholds.json"
    code, said = run("calibrate", labels, "--max-error", ".001", "--out", str(out), "--quiet")
    assert code == 2
    assert "Not certified" in said
    assert "more labels" in said
    assert json.loads(out.read_text(encoding="utf-8"))["thresholds"] is None


def test_rows_of_a_queue_without_probabilities_are_refused(tmp_path: Path) -> None:
    labels = write(tmp_path / "labels.jsonl", 60, {"why": ["borderline"]})
    with pytest.raises(LabelsError, match="gate or a review queue selected it"):
        run("calibrate", labels, "--out", str(tmp_path / "t.json"))
