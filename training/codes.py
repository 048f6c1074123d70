"""Trained weights in a file: int8 codes with one scale a row, exactly what the export stores.

A matrix is quantised as `export.symmetric_int8` does it, so that reading the file and exporting it
gives the same bytes as exporting the trained weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

INT8_MAX = 127
EXACT = ("support.", "sufficiency.", "tokens.", "relative")
"""Small tables that keep their floats: the heads, and a bias for distances."""


def write_codes(path: Path, tensors: Mapping[str, NDArray[Any]]) -> None:
    """Matrices of the encoder as codes, everything else as it is."""
    held: dict[str, Any] = {}
    for name, value in tensors.items():
        if value.ndim != 2 or name.startswith(EXACT) or "token_type" in name:
            held[name] = value
            continue
        peak = np.abs(value).max(axis=1, keepdims=True)
        scale = np.where(peak > 0, peak / INT8_MAX, 1).astype(np.float32)
        held[name] = np.rint(value / scale).astype(np.int8)
        held[f"{name}.scale"] = scale
    np.savez_compressed(path, **held)


def read_codes(path: Path) -> dict[str, NDArray[np.float32]]:
    """The tensors in fp32."""
    with np.load(path) as held:
        return {
            name: held[name].astype(np.float32) * held[f"{name}.scale"]
            if f"{name}.scale" in held.files
            else held[name]
            for name in held.files
            if not name.endswith(".scale")
            and np.issubdtype(held[name].dtype, np.number)
            and name != "embeddings.position_ids"
        }
