"""From judged pairs to cards and comparisons, on a few made-up answers."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ablation
import calibrate
from calibrate import Answers, Judged, best_reading, read_judged

ROWS = 60


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))


def pair(row: int, claim: int, way: str) -> dict[str, Any]:
    return {"row": row, "claim": claim, "way": way, "task": int(way in ("together", "alone"))}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every second row is right, in two sets, and one set that must not count."""
    folder = tmp_path_factory.mktemp("data")
    names = ("a", "b", "halueval_qa")
    grounding = [
        {"set": names[n // 2 % 3], "label": ("neutral", "entail")[n % 2]} for n in range(ROWS)
    ]
    questions = [{"set": "c", "sufficient": bool(n % 2)} for n in range(ROWS)]
    write(folder / "grounding" / "dev.jsonl.gz", grounding)
    write(folder / "sufficiency" / "dev.jsonl.gz", questions)
    return folder


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two claims an answer; the second is read in a way of its own by the strong tier. Right rows
    have greater logits in the first column (support) and the last (enough)."""
    folder = tmp_path_factory.mktemp("judged")
    pairs = []
    for row in range(ROWS):
        pairs += [pair(row, 0, "near"), pair(row, 1, "near"), pair(row, 1, "shared")]
    for row in range(ROWS):
        pairs += [pair(row, 0, "together"), pair(row, 0, "alone")]
    write(folder / "pairs.jsonl.gz", pairs)
    draw = np.random.default_rng(5)
    good = np.array([2.0 * (one["row"] % 2) - 1 for one in pairs])
    fast, strong = draw.normal(size=(len(pairs), 5)), draw.normal(size=(len(pairs), 3))
    fast[:, 0] += good
    fast[:, 4] += good
    strong[:, 0] += good
    np.save(folder / "pairs-fast.npy", fast)
    np.save(folder / "pairs-strong.npy", strong)
    return folder


def run(monkeypatch: pytest.MonkeyPatch, module: Any, *args: object) -> None:
    monkeypatch.setattr(sys, "argv", ["command", *map(str, args)])
    module.main()


def test_the_cards(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path, data: Path, judged: Path
) -> None:
    run(monkeypatch, calibrate, "--data", data, "--judged", judged, "--out", tmp_path / "cards")
    cards = {
        tier: json.loads((tmp_path / "cards" / f"{tier}.json").read_text())
        for tier in ("fast", "strong")
    }
    for card in cards.values():
        assert list(card)[:2] == ["calibration", "thresholds"]
        assert list(card["calibration"]) == list(card["thresholds"]) == ["support", "sufficiency"]
        assert all(line["slope"] > 0 for line in card["calibration"].values())
        assert all(0.1 <= at <= 0.9 for at in card["thresholds"].values())
    assert "weights" not in cards["fast"]
    assert cards["strong"]["weights"] == calibrate.WEIGHTS
    told = capsys.readouterr().out
    names = [line.split(":")[0] for line in told.splitlines() if "threshold" in line]
    assert names == ["fast support", "strong support", "fast sufficiency", "strong sufficiency"]
    assert "halueval_qa" not in told


def test_a_claim_is_found_by_the_way_it_is_read(judged: Path) -> None:
    pairs = read_judged(judged).pairs
    near, shared = Answers.of(pairs, "near"), Answers.of(pairs, "shared")
    assert (near.rows[1], shared.rows[1]) == ([3, 4], [3, 5])
    kept = near.only(np.arange(ROWS) % 10 == 0)
    assert list(kept.rows) == [0, 10, 20, 30, 40, 50]
    assert kept.scores(np.arange(len(pairs)))[:2].tolist() == [0.5, 30.5]


def test_the_two_tiers_together() -> None:
    pairs = [pair(0, 0, "near"), pair(0, 0, "shared"), pair(0, 0, "together"), pair(0, 0, "alone")]
    draw = np.random.default_rng(6)
    one = Judged(pairs, draw.normal(size=(4, 5)), draw.normal(size=(4, 3)))
    near, shared = Answers.of(pairs, "near"), Answers.of(pairs, "shared")
    assert one.both_support(near, shared, 0.0) == pytest.approx(one.support())
    strong = calibrate.margin(calibrate.log_softmax(one.strong), 0)
    assert one.both_support(near, shared, 1.0)[0] == pytest.approx(strong[1])
    fast = one.fast[:, 4] - one.fast[:, 3]
    assert one.enough() == pytest.approx([max(fast[2:])])
    told = one.strong[2, 0] - one.strong[2, 1]
    assert one.both_enough(0.7) == pytest.approx([0.3 * max(fast[2:]) + 0.7 * told])
    assert best_reading(pairs, np.array([9.0, 9.0, 1.0, 2.0])).tolist() == [2.0]


def test_a_comparison_keeps_the_record_of_each_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data: Path, judged: Path
) -> None:
    out = tmp_path / "ablation.json"
    old = {"name": "old", "figures": {}, "run": {"commit": "before"}}
    out.write_text(json.dumps({"rows": [old, {**old, "name": "both"}]}))
    variants = [f"{name}={judged}:{name}" for name in ("fast", "both")]
    run(monkeypatch, ablation, "--data", data, "--out", out, *variants)
    rows = {row["name"]: row for row in json.loads(out.read_text())["rows"]}
    assert rows["old"] == old
    dev = ["grounding/dev.jsonl.gz", "sufficiency/dev.jsonl.gz"]
    assert list(rows["fast"]["run"]["data"]) == [*dev, "pairs.jsonl.gz", "pairs-fast.npy"]
    assert list(rows["both"]["run"]["data"])[3:] == ["pairs-fast.npy", "pairs-strong.npy"]
    assert rows["fast"]["run"].keys() == {"commit", "dirty", "versions", "machine", "data"}
    assert rows["fast"]["figures"]["grounding"]["a"]["auroc"] > 0.6
    assert rows["both"]["figures"]["sufficiency"]["c"]["n"] == ROWS
