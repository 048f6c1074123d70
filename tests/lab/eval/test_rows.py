"""Labelled rows: errors name the file and the line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from suffice.errors import Unreadable
from suffice.lab.eval.rows import NAME, TEXT, or_null, read_rows

GOOD = b'{"set": "own"}\n'
KINDS = {"set": NAME, "task": or_null(NAME), "claim": TEXT}


def read(path: Path, content: bytes) -> list[dict[str, object]]:
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return read_rows(path, ("set",), KINDS)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"set": "own"', "Expecting ',' delimiter at column 14. Write one JSON object per line"),
        (b'{"set": "\xe4"}', "cannot be read as JSON: 'utf-8' codec .* in UTF-8"),
        (b"[" * 100_000, "cannot be read as JSON: maximum recursion depth"),
        (b'{"set": "a", "claim": ' + b'{"a":' * 100_000, "maximum recursion depth"),
        (rb'{"set": "a\ud800"}', r"'set' is 'a\\ud800'. Write it as text without lone halves"),
        (rb'{"set": "a", "task": "\udc00"}', r"'task' is '\\udc00'.* or null"),
        (b'["set"]', "no field set"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(
    tmp_path: Path, name: str, line: bytes, says: str
) -> None:
    with pytest.raises(Unreadable, match=f"{name}, line 3: .*{says}"):
        read(tmp_path / name, GOOD + b"\r\n" + line + b"\n" + GOOD)


def test_whole_pairs_and_halves_in_what_is_judged_are_read(tmp_path: Path) -> None:
    row = rb'{"set": "\ud83d\ude00", "task": null, "claim": "\ud800"}' + b"\r\n"
    assert read(tmp_path / "rows.jsonl", row) == [{"set": "😀", "task": None, "claim": "\ud800"}]


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(GOOD * 99, mtime=0)[:-9]])
def test_a_damaged_gzip_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rows.jsonl.gz").write_bytes(content)
    with pytest.raises(
        Unreadable, match=r"rows\.jsonl\.gz cannot be read: .* Use a JSON lines file"
    ):
        read_rows(tmp_path / "rows.jsonl.gz", ("set",), KINDS)
