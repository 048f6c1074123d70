"""The shape of HHEM, int8, and weights that graphs of one model share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.graph import Shape
from benchmarks.peers.t5 import T5, position_buckets, write_t5
from benchmarks.shapes import write_modernbert
from suffice.models.session import open_session

TINY = Shape(layers=2, hidden=32, heads=4, inner=64, span=8)
TOKENS = 37


def logits(path: Path) -> Any:
    return open_session(path).run(None, {"input_ids": np.arange(TOKENS)[None]})[0]


@pytest.mark.parametrize("int8", [False, True])
def test_a_small_t5_runs(tmp_path: Path, int8: bool) -> None:
    pytest.importorskip("onnx")
    parameters = write_t5(tmp_path / "model.onnx", TINY, TOKENS, int8)
    layer = 4 * 32 * 32 + 3 * 32 * 64 + 2 * 32
    assert parameters == 2 * layer + 32 * 4 + 32 + 2 * 32
    said = logits(tmp_path / "model.onnx")
    assert said.shape == (1, 1, 2)
    assert np.isfinite(said).all()


def test_hhem_is_the_encoder_of_flan_t5_base() -> None:
    embeddings = 32_128 * T5.hidden
    layers = T5.layers * (4 * T5.hidden**2 + 3 * T5.hidden * T5.inner)
    assert 109e6 < layers + embeddings < 110e6


def test_relative_positions_of_t5() -> None:
    """As in its published code: 16 buckets for each direction, exact below 8, one from 128 on."""
    table = position_buckets(300)
    assert table[10, 10] == 0
    assert (table[10, 3], table[3, 10]) == (7, 16 + 7)
    assert (table[200, 0], table[299, 0], table[0, 299]) == (15, 15, 31)
    far = 20
    assert table[far, 0] == 8 + int(math.log(far / 8) / math.log(128 / 8) * 8)


def test_graphs_of_one_model_share_their_weights_and_models_do_not(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    write_t5(tmp_path / "long.onnx", TINY, 2 * TOKENS)
    write_t5(tmp_path / "model.onnx", TINY, TOKENS)
    shared = logits(tmp_path / "model.onnx")
    assert len(list(tmp_path.glob("*.weights"))) == 1
    write_modernbert(tmp_path / "other.onnx", TINY, TOKENS)
    write_t5(tmp_path / "int8.onnx", TINY, TOKENS, int8=True)
    assert len(list(tmp_path.glob("*.weights"))) == 3
    alone = tmp_path / "alone" / "model.onnx"
    alone.parent.mkdir()
    write_t5(alone, TINY, TOKENS)
    np.testing.assert_array_equal(shared, logits(alone))
