"""A base is read as the numbers its codes stand for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from training.bases import BASES, read_base


def test_codes_are_read_with_their_scale_and_zero(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    table = draw.integers(0, 256, (5, 4)).astype(np.uint8)
    linear = draw.integers(-128, 128, (3, 4)).astype(np.int8)
    scales = np.array([[0.5], [0.25], [2.0]], np.float32)
    zeros = np.array([[0], [7], [-3]], np.int8)
    held: dict[str, Any] = {
        "embeddings.word_embeddings.weight": table,
        "embeddings.word_embeddings.weight.scale": np.float32(0.5),
        "embeddings.word_embeddings.weight.zero": np.uint8(200),
        "encoder.layer.0.output.dense.weight": linear,
        "encoder.layer.0.output.dense.weight.scale": scales,
        "encoder.layer.0.output.dense.weight.zero": zeros,
        "encoder.layer.0.output.dense.bias": np.ones(3, np.float32),
    }
    np.savez_compressed(tmp_path / "base.npz", **held)
    read = read_base(tmp_path)
    assert set(read) == {
        "embeddings.word_embeddings.weight",
        "encoder.layer.0.output.dense.weight",
        "encoder.layer.0.output.dense.bias",
    }
    assert {value.dtype for value in read.values()} == {np.dtype(np.float32)}
    words = read["embeddings.word_embeddings.weight"]
    assert words.tolist() == ((table.astype(float) - 200) * 0.5).tolist()
    dense = read["encoder.layer.0.output.dense.weight"]
    assert dense.tolist() == ((linear.astype(float) - zeros) * scales).tolist()


@pytest.mark.parametrize("name", sorted(BASES))
def test_a_base_is_named_with_licence_and_fingerprint(name: str) -> None:
    card = BASES[name].card
    assert card["licence"] in ("Apache-2.0", "MIT")
    assert len(card["sha256"]) == 64
