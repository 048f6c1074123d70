"""Judge pairs with an exported file, on the CPU: what train.py does on a GPU.

    python -m training.judge --model FOLDER --pairs build/held.jsonl.gz --out build/fast/held.npy

Pairs beyond --most items of a set are not read: their logits are not numbers.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from .calibrate import NEAR
from .embedder import open_session
from .rows import read, read_pairs
from .verifier import HEADS, Tokens, feed, tokens

BATCH = 2048
"""Tokens read at a time, with padding."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, default=0, help="items of a set; 0: all")
    given = parser.parse_args()
    session = open_session(given.model / "model.onnx")
    tokenizer = Tokenizer.from_file(str(given.model / "tokenizer.json"))
    chosen = places(given.pairs, given.most)
    rows = read_pairs(given.pairs)
    encoded: dict[int, Tokens] = {n: tokens(tokenizer, rows[n]) for n in chosen}
    found = np.full((len(rows), 5), np.nan, np.float32)
    batch: list[int] = []
    order = sorted(chosen, key=lambda n: len(encoded[n][0]))
    for n in [*order, -1]:
        if batch and (n < 0 or (len(batch) + 1) * len(encoded[n][0]) > BATCH):
            logits = session.run(list(HEADS), feed([encoded[one] for one in batch]))
            found[batch] = np.hstack(logits)
            batch = []
        batch.append(n)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    np.save(given.out, found)
    print(f"wrote {given.out}: {len(chosen)} of {len(rows)} pairs")


def places(path: Path, most: int) -> list[int]:
    """The pairs of the first items of each set; of the sets nearest to use five times as many."""
    seen: dict[str, set[str]] = defaultdict(set)
    kept = []
    near = {name for names in NEAR.values() for name in names}
    for place, pair in enumerate(read(path)):
        items = seen[pair["set"]]
        room = most * (5 if pair["set"] in near else 1)
        if pair["item"] in items or not most or len(items) < room:
            items.add(pair["item"])
            kept.append(place)
    return kept


if __name__ == "__main__":
    main()
