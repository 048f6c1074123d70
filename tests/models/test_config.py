"""The JSON beside a user's model, and the threads a model runs on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from suffice.errors import ModelDamaged
from suffice.models.catalog import read_config
from tests.conftest import THREADS


def test_a_file_that_is_not_there_is_nothing_where_none_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    assert read_config(path, needed=False) == {}
    with pytest.raises(
        ModelDamaged, match=r"config\.json cannot be read.*Save the model's original"
    ):
        read_config(path)
    path.write_text('{"hidden_size": 3}')
    assert read_config(path) == read_config(path, needed=False) == {"hidden_size": 3}
    path.write_text("[1]")
    assert read_config(path) == {}


@pytest.mark.parametrize("needed", [False, True])
@pytest.mark.parametrize(
    "damage", [b"{", b"\xff\xfe{}", b"[" * 100_000], ids=["cut", "not", "deep"]
)
def test_a_damaged_file_is_told_even_where_none_is_needed(
    tmp_path: Path, damage: bytes, needed: bool
) -> None:
    (tmp_path / "config.json").write_bytes(damage)
    with pytest.raises(ModelDamaged, match=r"config\.json cannot be read"):
        read_config(tmp_path / "config.json", needed=needed)


@pytest.mark.parametrize(("cores", "threads"), [(1, 1), (3, 3), (64, 4), (None, 1)])
def test_threads_are_bounded(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, threads: int
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    assert THREADS(0) == threads
    assert THREADS(7) == 7
