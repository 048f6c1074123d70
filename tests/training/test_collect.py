"""Passages that stand in other projects are cut where they were annotated, or not at all."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from training import collect
from training.rows import read_lines

TEXT = "# Noise\n\nBars close at two.\n\n## Fines\n\nA fine is $50.\n"


def test_each_place_belongs_to_a_case_and_to_a_known_source() -> None:
    places = list(read_lines(collect.PLACES / "places.jsonl"))
    sources = json.loads((collect.PLACES / "sources.json").read_text("utf-8"))
    files = sorted((collect.PLACES.parent / "written").glob("*.jsonl"))
    cases = {one["id"] for file in files for one in read_lines(file)}
    assert {place["source"] for place in places} == sources.keys()
    placed = {place["id"] for place in places}
    assert len(placed) == len(places)
    assert placed == {name for name in cases if name.rpartition("-")[0] in sources}


@pytest.fixture
def checkouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkouts" / "city"
    folder.mkdir(parents=True)
    (folder / "code.md").write_text(TEXT)
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "code"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    source = {"commit": head.stdout.strip(), "licence": "CC0-1.0", "repository": "city"}
    start = TEXT.index("A fine")
    place = {
        "id": "city-1", "source": "city", "file": "code.md", "title": "Noise",
        "spans": [[start, len(TEXT)]], "sha256": collect.digest(["Fines\nA fine is $50."]),
    }  # fmt: skip
    places = tmp_path / "collected"
    places.mkdir()
    (places / "sources.json").write_text(json.dumps({"city": source}))
    (places / "places.jsonl").write_text(json.dumps(place) + "\n")
    monkeypatch.setattr(collect, "PLACES", places)
    return folder.parent


def test_a_passage_is_cut_below_its_heading(checkouts: Path) -> None:
    (case,) = collect.collected(checkouts)
    assert case["passages"] == ["Fines\nA fine is $50."]
    assert (case["id"], case["licence"]) == ("city-1", "CC0-1.0")


def test_another_text_than_the_annotated_one_is_refused(checkouts: Path) -> None:
    places = collect.PLACES / "places.jsonl"
    place = json.loads(places.read_text())
    place["spans"][0][1] -= 4
    places.write_text(json.dumps(place))
    with pytest.raises(SystemExit, match="city-1"):
        list(collect.collected(checkouts))
