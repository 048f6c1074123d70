"""`suffice review` and `suffice feedback` on questions about the sample handbook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from suffice.cli import cli
from suffice.errors import ReviewError, StoreError
from suffice.lab.calibrate.labels import read_labels
from suffice.types import Action

HANDBOOK = str(Path(__file__).parents[2] / "src" / "suffice" / "handbook")
SERVED = "How long is probation?"
UNKNOWN = "Which restaurants are approved for dinners with customers?"


def run(*arguments: str) -> str:
    done = CliRunner().invoke(cli, [*arguments], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def read(*arguments: str) -> Any:
    return json.loads(run(*arguments, "--json"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("review")
    file, config = str(folder / "s.db"), folder / "suffice.yaml"
    config.write_text("record: {review_sample: 1.0, mask_emails: false}\n")
    run("index", HANDBOOK, "--store", file, "--quiet")
    for question in (SERVED, UNKNOWN, UNKNOWN.replace(" for ", "  for ")):
        run("ask", question, "--store", file, "--config", str(config), "--json")
    return file


def test_from_the_queue_to_a_decision(store: str) -> None:
    (case,) = read("review", "list", "--store", store)
    assert (case["question"], case["why"], case["probability"]) == (SERVED, ["sampled"], 1.0)
    assert SERVED in run("review", "list", "--store", store)
    id = case["id"]
    shown = run("review", "show", id, "--store", store)
    assert "6 months" in shown
    assert "Awaiting review: sampled" in shown
    run("feedback", id, "down", "--comment", "of last year", "--by", "carol", "--store", store)
    done = run(
        "review", "decide", id, "withdraw", "--reason", "Old.", "--by", "Ada", "--store", store
    )
    assert "Withdrawn by Ada: Old." in done
    assert "The verdict is now WITHHOLD." in done
    shown = run("review", "show", id, "--store", store)
    assert "Draft (not released)" in shown
    assert "Rated down by carol: of last year" in shown
    told = read("review", "show", id, "--store", store)
    assert told["verdict"]["verdict"] == Action.WITHHOLD
    assert told["verdict"]["answer"] is None
    assert told["passages"]
    assert [one["act"] for one in told["decided"]] == ["withdraw"]
    assert read("review", "list", "--store", store) == []
    assert "The review queue is empty" in run("review", "list", "--store", store)
    assert len(read("review", "list", "--all", "--store", store)) == 1
    found = read("review", "errors", "--store", store)
    assert (found["rate"], found["population"], found["wrong"]) == (1.0, 1, 1)
    assert "100.00%" in run("review", "errors", "--store", store)


def test_a_gap_is_opened(store: str) -> None:
    (gap,) = read("review", "gaps", "--store", store)
    assert gap["count"] == 2
    assert gap["nearest"]
    assert "asked 2 times" in run("review", "gaps", "--store", store)
    config = str(Path(store).with_name("suffice.yaml"))
    said = ("--reason", "It is in the policy.", "--by", "Ada")
    reason = (*said, "--store", store, "--config", config)
    made = read("review", "decide", gap["records"][0], "open", *reason)
    assert made["verdict"] == Action.CAVEAT
    assert "Meals" in made["answer"]
    assert any("Gate opened by Ada: It is in the policy." in note for note in made["notes"])
    assert "see record" in run("review", "show", gap["records"][0], "--store", store)
    (left,) = read("review", "gaps", "--store", store)
    assert left["count"] == 1
    assert read("audit", "verify", "--store", store)["whole"]
    again = CliRunner().invoke(
        cli, ["audit", "replay", made["record"], "--store", store], standalone_mode=False
    )
    assert again.return_value == 0, again.output  # what a person opened can be made again too


def test_a_reader_without_the_label_is_shown_none_of_it(tmp_path: Path) -> None:
    docs, store = tmp_path / "docs", str(tmp_path / "s.db")
    docs.mkdir()
    (docs / "pay.md").write_text("---\naccess: [board]\n---\n# Pay\n\nThe bonus is 900 euros.\n")
    run("index", str(docs), "--store", store, "--quiet")
    asked = read("ask", "How much is the bonus?", "--label", "board", "--store", store)
    whole = run("review", "show", asked["record"], "--store", store)
    assert "900 euros" in whole
    for form in ((), ("--json",)):
        ask = ("review", "show", asked["record"], "--store", store, *form)
        assert "900 euros" in run(*ask, "--label", "board")
        with pytest.raises(StoreError, match="There is no record"):
            run(*ask, "--label", "staff")


def test_what_is_wrong_is_told(store: str) -> None:
    with pytest.raises(StoreError, match="There is no record 'nothing'"):
        run("feedback", "nothing", "up", "--store", store)
    with pytest.raises(StoreError, match="contains no decision"):
        run("review", "show", "1", "--store", store)
    with pytest.raises(ReviewError, match="a reason"):
        run("review", "decide", "4", "confirm", "--reason", " ", "--store", store)
    done = CliRunner().invoke(cli, ["review", "decide", "4", "confirm", "--store", store])
    assert done.exit_code != 0
    assert "--reason" in done.output


def test_the_export_is_what_calibrate_reads(store: str, tmp_path: Path) -> None:
    out = tmp_path / "labels.jsonl"
    run("review", "export", "--store", store, "--out", str(out))
    (row,) = (json.loads(line) for line in out.read_text(encoding="utf-8").splitlines())
    assert (row["question"], row["probability"]) == (SERVED, 1.0)
    assert row["floor"]["serve"] == {"gate": 0.6, "confidence": 0.8}
    assert row["evidence"][0]["text"]
    (label,) = read_labels(out)
    assert label.scores is not None
    assert label.scores.gate > 0.5
    assert row["record"] in run("review", "export", "--store", store)
