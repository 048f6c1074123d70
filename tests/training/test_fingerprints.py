"""Nothing that was written for training stands in what is measured on; needs no data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from training.fingerprints import FILE, fingerprint, fingerprints, measured_on

WRITTEN = Path(__file__).parents[2] / "training" / "data" / "written"


@pytest.fixture(scope="module")
def dev() -> frozenset[str]:
    return frozenset(FILE.read_text("utf-8").split())


@pytest.mark.parametrize("file", sorted(WRITTEN.rglob("*.jsonl")), ids=lambda file: file.stem)
def test_no_annotation_stands_in_dev(file: Path, dev: frozenset[str]) -> None:
    cases = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert cases
    assert [case["id"] for case in cases if not dev.isdisjoint(fingerprints(case))] == []


def test_a_question_of_dev_is_found_wherever_it_stands(dev: frozenset[str]) -> None:
    asked = "What would I pay in total each month for $250,000 of SGLI coverage?"
    assert fingerprint(asked) in dev
    planted = {"id": "new", "qa": [{"q": f"  {asked.upper()}", "a": "$18.50", "w": []}]}
    assert not dev.isdisjoint(fingerprints(planted))


def test_the_fingerprints_are_those_of_the_data(shared_data: Path, dev: frozenset[str]) -> None:
    assert measured_on(shared_data) == dev
