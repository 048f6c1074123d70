"""`suffice bench conflict` with a verifier that counts words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from suffice.cli import cli
from suffice.errors import SourceMissing
from suffice.models.verifier import Pair, SupportScore
from tests.lab.eval.overlap import OverlapVerifier, write

DOCUMENTS = [
    {"text": "Parental leave is 16 weeks.", "type": "correct", "answer": "16 weeks"},
    {"text": "Parental leave is 18 weeks.", "type": "misinfo", "answer": "18 weeks"},
]
ROW = {"set": "own", "question": "How long is parental leave?", "documents": DOCUMENTS}


class Hedging(OverlapVerifier):
    """Counts words and is never certain, like a real verifier: certainty has infinite odds."""

    def support(self, pairs: Sequence[Pair]) -> list[SupportScore]:
        return [replace(one, supported=0.9 * one.supported) for one in super().support(pairs)]


@pytest.fixture(autouse=True)
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    tiers: list[str] = []

    def open_verifier(settings: object, tier: str, draft: object = None) -> OverlapVerifier:
        tiers.append(tier)
        return Hedging(tier=tier)

    monkeypatch.setattr("suffice.models.catalog.open_verifier", open_verifier)
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.chdir(tmp_path)
    return tiers


def run(*args: object) -> Result:
    return CliRunner().invoke(cli, ["bench", "conflict", *map(str, args)], catch_exceptions=True)


def test_the_tables(tmp_path: Path, opened: list[str]) -> None:
    done = run(write(tmp_path / "rows.jsonl", [ROW]), "--tier", "strong")
    assert done.exit_code == 0
    assert all(len(line) <= 90 for line in done.output.splitlines())
    for said in ("number", "correct and misinforming", "both correct, different answers", "–"):
        assert said in done.output
    assert "reported in 1.000 of 1 questions with planted misinformation" in done.output
    assert "in 0.000 of the same questions without it" in done.output
    assert opened == ["strong"]


def test_json_and_settings(tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", [ROW, ROW])
    figures = json.loads(run(data, "--json", "--quiet", "--limit", 1).stdout)
    assert (figures["planted"], figures["clean"]) == ({"n": 1, "share": 1.0}, {"n": 1, "share": 0})
    config = tmp_path / "own.yaml"
    config.write_text("gate:\n  conflict:\n    threshold: 0.99\n")
    figures = json.loads(run(data, "--json", "--config", config).stdout)
    assert (figures["threshold"], figures["planted"]["share"]) == (0.99, 0.0)


def test_no_such_file(tmp_path: Path) -> None:
    assert isinstance(run(tmp_path / "none.jsonl").exception, SourceMissing)
