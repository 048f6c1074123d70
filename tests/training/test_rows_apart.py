"""What is trained on shares no question and no evidence with a dev file."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from training.rows import apart, read, texts

LONG = "a sentence that is long enough to be told from any other sentence, number "


def write(folder: Path, **files: list[dict[str, object]]) -> None:
    for name, rows in files.items():
        with gzip.open(folder / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def test_rows_that_share_a_question_or_their_evidence_are_left_out(tmp_path: Path) -> None:
    write(
        tmp_path,
        dev=[{"question": f"{LONG} 1", "evidence": [f"{LONG} 2", f"{LONG} 3"]}],
        train=[
            {"question": f"{LONG} 1", "evidence": [f"{LONG} 4"]},
            {"question": f"{LONG} 5", "evidence": [f"{LONG} 3", f"{LONG}  2"]},
            {"question": f"{LONG} 7", "evidence": [f"{LONG} 3", f"{LONG} 8"]},
        ],
    )
    assert [row["question"] for row in apart(tmp_path)] == [f"{LONG} 7"]


@pytest.mark.parametrize("name", ["grounding", "sufficiency"])
def test_nothing_trained_on_stands_in_dev(shared_data: Path, name: str) -> None:
    dev = {text for row in read(shared_data / name / "dev.jsonl.gz") for text in texts(row)}
    kept = list(apart(shared_data / name))
    assert len(dev) > 1000
    assert len(kept) > 10_000
    assert not [row for row in kept if not dev.isdisjoint(texts(row))]
