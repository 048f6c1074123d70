"""Signed weights give the scores of the stored ones; whatever else a file holds is left alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from suffice.models import session
from suffice.models.catalog import DEFAULT, FAST, STRONG, weights
from suffice.models.session import open_session, prefers_signed, with_signed_weights

ROOT = Path(__file__).parents[2]
MODELS = (
    weights(DEFAULT),
    weights(FAST),
    ROOT / "strong" / "src" / "suffice_strong" / "weights" / STRONG,
)
CORE = "fpu avx2 avx512f avx512bw avx512dq avx512vl"


@pytest.fixture(params=MODELS, ids=lambda folder: folder.name)
def file(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param / "model.onnx"
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"processor : 0\nflags\t\t: {CORE} avx512_vnni\n", True),
        ("flags\t\t: fpu avx2 avx_vnni\n", True),
        (f"flags\t\t: {CORE}\n", False),
        (f"flags\t\t: {CORE} avx_vnni\n", False),  # onnxruntime takes AVX-512 without VNNI
        ("flags\t\t: fpu avx2 avx512f avx512_vnni\n", False),
        (f"flags\t\t: {CORE} avx512_vnni amx_tile amx_int8\n", False),
        ("flags\t\t: fpu avx2\n", False),
        ("Features\t: fp asimd asimddp i8mm\n", False),
        ("", False),
    ],
)
def test_the_processor_decides(tmp_path: Path, text: str, expected: bool) -> None:
    processor = tmp_path / "cpuinfo"
    assert not prefers_signed(processor)
    processor.write_text(text)
    assert prefers_signed(processor) is expected


def test_only_the_weights_change_and_keep_their_values(file: Path) -> None:
    converted = with_signed_weights(file)
    assert converted
    assert len(converted) == file.stat().st_size
    before = onnx.load(file, load_external_data=False).graph
    after = onnx.ModelProto.FromString(converted).graph
    products = 0
    for old, new in zip(before.node, after.node, strict=True):
        if old.op_type == "MatMulIntegerToFloat":
            assert old.input[5] == "uint8.zero"
            products += 1
            del old.input[5]
            new.ClearField("doc_string")
        assert old == new
    signed = 0
    for was, now in zip(before.initializer, after.initializer, strict=True):
        if was == now:
            continue
        signed += 1
        codes = numpy_helper.to_array(was).astype(int) - 128
        assert now.data_type == onnx.TensorProto.INT8
        assert np.array_equal(numpy_helper.to_array(now), codes)
    assert signed == products > 0


@pytest.mark.skipif(not prefers_signed(), reason="signed weights saturate without VNNI")
def test_the_results_are_the_same(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signed = open_session(file, 1)
    session._opened.cache_clear()
    monkeypatch.setattr(session, "prefers_signed", lambda: False)
    stored = open_session(file, 1)
    session._opened.cache_clear()
    # onnxruntime opened one from memory and the other from the file.
    assert (signed._model_path, stored._model_path) == (None, str(file))
    names = [entry.name for entry in stored.get_inputs()]
    ids = np.random.default_rng(0).integers(1000, 30000, (3, 50))
    every = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": 0 * ids}
    feed = {name: every[name] for name in names}
    for one, other in zip(signed.run(None, feed), stored.run(None, feed), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_a_model_without_such_weights_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    whole = (weights(DEFAULT) / "model.onnx").read_bytes()
    model = onnx.ModelProto.FromString(whole)
    (zero,) = [one for one in model.graph.initializer if one.name == "uint8.zero"]
    zero.raw_data = b"\x7f"
    for content in (model.SerializeToString(), whole[: len(whole) // 2], b"\xff" * 99, b""):
        file.write_bytes(content)
        assert with_signed_weights(file) is None
    assert with_signed_weights(tmp_path / "missing") is None
