"""Copies of a generation: the same bytes, without the empty blocks."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from suffice.evidence import edge

BLOCK = edge._BLOCK


def sparse(file: Path, *parts: tuple[int, bytes], size: int) -> bytes:
    """A file with holes between its parts, and its content."""
    with file.open("wb") as new:
        for place, data in parts:
            new.seek(place)
            new.write(data)
        new.truncate(size)
    return file.read_bytes()


@pytest.mark.parametrize("holes", [True, False])
def test_a_copy_has_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, holes: bool
) -> None:
    def unknown(file: int, place: int, how: int) -> int:
        raise OSError(errno.EINVAL, "no SEEK_DATA here")

    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    tail = 3 * BLOCK + 17
    written = {
        "middle": sparse(source / "middle", (2 * BLOCK - 3, b"across"), size=64 * BLOCK),
        "ends": sparse(source / "ends", (0, b"first"), (tail, b"last"), size=tail + 4),
        "zeros": sparse(source / "zeros", (0, bytes(2 * BLOCK)), (5 * BLOCK, b"x"), size=6 * BLOCK),
        "hole": sparse(source / "hole", size=9 * BLOCK),
        "empty": sparse(source / "empty", size=0),
    }
    with monkeypatch.context() as patched:
        if not holes:
            patched.setattr(os, "lseek", unknown)
        edge._copy(source, target)
    assert {file.name: file.read_bytes() for file in target.iterdir()} == written
    assert (target / "middle").stat().st_blocks * 512 < 16 * BLOCK
    assert (target / "hole").stat().st_blocks == 0
