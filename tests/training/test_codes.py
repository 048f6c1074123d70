"""Weights come back from their file as the numbers that the export would store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from training.codes import read_codes, write_codes


def test_a_matrix_comes_back_within_half_a_step_and_the_rest_as_it_is(tmp_path: Path) -> None:
    draw = np.random.default_rng(4)
    tensors = {
        name: draw.normal(size=size).astype(np.float32)
        for name, size in {
            "encoder.layer.0.output.dense.weight": (6, 9),
            "encoder.layer.0.output.dense.bias": (6,),
            "embeddings.token_type_embeddings.weight": (2, 9),
            "support.weight": (3, 9),
            "tokens.weight": (2, 9),
        }.items()
    }
    write_codes(tmp_path / "weights.npz", tensors)
    read = read_codes(tmp_path / "weights.npz")
    assert read.keys() == tensors.keys()
    dense = "encoder.layer.0.output.dense.weight"
    for name in tensors.keys() - {dense}:
        np.testing.assert_array_equal(read[name], tensors[name])
    step = np.abs(tensors[dense]).max(axis=1, keepdims=True) / 127
    assert (np.abs(read[dense] - tensors[dense]) <= step * 0.501).all()


def test_the_export_finds_the_same_codes_and_scales_again(tmp_path: Path) -> None:
    export = pytest.importorskip("export", reason="needs onnx, of the dev extra")
    draw = np.random.default_rng(5)
    weight = (draw.normal(size=(300, 40)) * draw.lognormal(size=(300, 1))).astype(np.float32)
    weight[7] = 0
    write_codes(tmp_path / "weights.npz", {"encoder.weight": weight})
    again = read_codes(tmp_path / "weights.npz")["encoder.weight"]
    for one, other in zip(
        export.symmetric_int8(weight, axis=1), export.symmetric_int8(again, axis=1), strict=True
    ):
        np.testing.assert_array_equal(one, other)
