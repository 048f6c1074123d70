"""Margins become probabilities: a known line is found again, and errors are counted."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training import calibrate
from training.calibrate import NEAR, PUBLIC, balanced, chance, ece, judged, line_of, logistic
from training.measure import Item

TRUE_LINE = {"slope": 0.7, "offset": -0.4}


def simulated(name: str, count: int, seed: int) -> list[Item]:
    draw = np.random.default_rng(seed)
    margins = draw.normal(0.5, 3, count)
    truth = draw.random(count) < chance(margins, TRUE_LINE)
    return [Item(name, bool(t), float(m)) for t, m in zip(truth, margins, strict=True)]


def values(found: list[Item]) -> tuple[Any, Any]:
    return np.array([one.margin for one in found]), np.array([one.truth for one in found])


def test_a_known_line_is_found_again() -> None:
    first, second, _ = NEAR["support"]
    found = [*simulated(first, 12_000, 1), *simulated(second, 4000, 2)]
    # Public sets are reported, never fitted.
    noise = [Item(PUBLIC["support"][0], not one.truth, one.margin) for one in found]
    line = line_of([*found, *noise], "support")
    assert line == pytest.approx(TRUE_LINE, abs=0.06)
    margins, truth = values(found)
    assert ece(chance(margins, line), truth) < 0.02
    assert ece(chance(margins, {"slope": 2.0, "offset": 1.0}), truth) > 0.1


def test_every_set_counts_alike() -> None:
    weights = balanced(np.array(["a"] * 30 + ["b"] * 10))
    assert weights[:30].sum() == pytest.approx(weights[30:].sum())
    assert weights.sum() == pytest.approx(40)


def test_a_ridge_holds_a_separable_line() -> None:
    inputs = np.array([[-1.0], [-0.5], [0.5], [1.0]])
    truth = np.array([0.0, 0, 1, 1])
    slope, offset = logistic(inputs, truth, np.ones(4), ridge=1.0)
    assert 0 < slope < 3
    assert offset == pytest.approx(0, abs=1e-6)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Judged pairs of every set; right ones have greater logits."""
    folder = tmp_path_factory.mktemp("build")
    draw = np.random.default_rng(5)
    for name, sets in (("near", NEAR), ("public", PUBLIC)):
        pairs = [
            {"set": of, "item": str(n), "task": task, "truth": bool(n % 2), "way": "together"}
            for task, question in enumerate(("support", "sufficiency"))
            for of in sets[question]
            for n in range(40)
        ]
        lines = "".join(json.dumps(pair) + "\n" for pair in pairs)
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        good = np.array([2.0 * bool(pair["truth"]) - 1 for pair in pairs])
        logits = draw.normal(size=(len(pairs), 5))
        logits[:, 0] += good
        logits[:, 4] += good
        np.save(folder / f"{name}.npy", logits.astype(np.float32))
    return folder


def test_a_line_for_each_question_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], build: Path
) -> None:
    out = build / "lines.json"
    given = ["--pairs", build, "--judged", build, "--out", out]
    monkeypatch.setattr(sys, "argv", ["calibrate", *map(str, given)])
    calibrate.main()
    lines = json.loads(out.read_text())
    assert list(lines) == ["support", "sufficiency"]
    assert all(line.keys() == {"slope", "offset"} and line["slope"] > 0 for line in lines.values())
    told = capsys.readouterr().out
    assert all(name in told for sets in (NEAR, PUBLIC) for own in sets.values() for name in own)


def test_a_margin_is_the_distance_of_a_label_to_all_others(build: Path) -> None:
    logits = np.load(build / "near.npy").astype(float)
    first, *_, last = judged(build, build, "near")
    assert first.margin == pytest.approx(logits[0, 0] - np.logaddexp(*logits[0, 1:3]))
    assert last.margin == pytest.approx(logits[-1, 4] - logits[-1, 3])
