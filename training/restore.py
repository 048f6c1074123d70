"""Read an exported encoder back, so that training can go on from it.

    python -m training.restore --model FOLDER --out build/fast

FOLDER holds a model.onnx that verifier.py wrote. Needs no GPU. Writes exact.npz and weights.npz as
train.py does; the rounding to int8 is all that is lost. `train.py --average build/fast` starts from
there.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from .codes import EXACT, write_codes
from .export import UINT8_ZERO

TABLES = {
    "words": "embeddings.word_embeddings.weight",
    "positions": "embeddings.position_embeddings.weight",
    "segments": "embeddings.token_type_embeddings.weight",
}
PARTS = ("query", "key", "value")


def tensors(model: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """The weights by BERT's names, matrices as torch stores them: (outputs, inputs)."""
    held = {one.name: numpy_helper.to_array(one) for one in onnx.load(str(model)).graph.initializer}
    for name, value in held.items():
        if name.endswith(".int8"):
            stem = name.removesuffix(".int8")
            scale = held[f"{stem}.scale"]
            if stem in TABLES:
                yield TABLES[stem], value.astype(np.float32) * scale
            else:
                yield f"{stem}.weight", ((value.astype(np.float32) - UINT8_ZERO) * scale).T
        elif name in TABLES:
            yield TABLES[name], value
        elif name.endswith("attention.self.bias"):
            stem = name.removesuffix(".bias")
            for part, own in zip(PARTS, np.split(value, len(PARTS)), strict=True):
                yield f"{stem}.{part}.bias", own
        elif name.startswith(EXACT):
            yield name, value.T if name.endswith(".weight") else value
        elif name.startswith(("encoder.", "embeddings.")) and not name.endswith(".scale"):
            yield name, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found: dict[str, Any] = {
        name: np.ascontiguousarray(value, np.float32)
        for name, value in tensors(given.model / "model.onnx")
    }
    given.out.mkdir(parents=True, exist_ok=True)
    np.savez(given.out / "exact.npz", **found)
    write_codes(given.out / "weights.npz", found)
    print(f"wrote {given.out}: {len(found)} tensors")


if __name__ == "__main__":
    main()
