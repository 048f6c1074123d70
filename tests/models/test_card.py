"""A model's files are held against its card: once each, and again when a file is replaced."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from suffice.errors import ModelDamaged
from suffice.models.card import Card


def test_a_file_is_read_once_and_again_when_it_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.onnx"
    file.write_bytes(b"weights")
    files = {file.name: hashlib.sha256(b"weights").hexdigest()}
    card = Card(tmp_path, "some", "1", 3, 5, files, {})
    card.verify()
    with monkeypatch.context() as unread:
        unread.delattr(Path, "read_bytes")
        card.verify()
    file.write_bytes(b"other weights")
    with pytest.raises(ModelDamaged, match="the card says"):
        card.verify()
    file.unlink()
    with pytest.raises(ModelDamaged, match="cannot be read"):
        card.verify()
