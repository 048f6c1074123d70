"""The run record lists every data file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from suffice.lab.eval.run_record import run_record


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_record_has_all_its_parts(tmp_path: Path) -> None:
    record = run_record(write(tmp_path / "dev.jsonl", "rows"))
    assert record.keys() == {"commit", "dirty", "versions", "machine", "data"}
    assert record["data"] == {"dev.jsonl": hashlib.sha256(b"rows").hexdigest()[:16]}
    assert {"python", "suffice", "numpy"} <= record["versions"].keys()


def test_files_of_one_name_stand_apart_by_their_folders(tmp_path: Path) -> None:
    names = ("one/dev.jsonl", "two/dev.jsonl", "far/two/dev.jsonl", "one/pairs.jsonl")
    paths = [write(tmp_path / name, name) for name in names]
    found = run_record(*paths)["data"]
    one, _, *others = found
    assert [one, *others] == ["one/dev.jsonl", "far/two/dev.jsonl", "pairs.jsonl"]
    assert len(set(found.values())) == len(names)
    assert run_record(paths[0], paths[0])["data"].keys() == {"dev.jsonl"}
