"""Prepare the training rows once for both tiers.

    python training/prepare.py --data ../shared/data --out rows.pickle [--plain] [--extra N]

Needs no GPU. The same data and seed give the same rows in the same order.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from held import Held, held_rows
from rows import Row, all_rows, apart

SEED = 7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plain", action="store_true", help="labelled rows alone, nothing made")
    parser.add_argument("--extra", type=int, default=20_000, help="documents to draw unlabelled")
    parser.add_argument("--limit", type=int, default=0, help="keep this many rows")
    arguments = parser.parse_args()
    begun = time.time()
    extra = 0 if arguments.plain else arguments.extra
    rows = all_rows(arguments.data, SEED, made=not arguments.plain, extra=extra)
    held = Held(held_rows(list(apart(arguments.data / "sufficiency"))))
    rows = [row for row in rows if row not in held][: arguments.limit or None]
    arguments.out.write_bytes(pickle.dumps(rows))
    counts = Counter(row.origin for row in rows)
    listing = arguments.out.with_suffix(".json")
    listing.write_text(json.dumps(dict(counts.most_common()), indent=2) + "\n")
    print(f"{len(rows)} rows in {time.time() - begun:.0f} s, counted in {listing}")


def prepared(path: Path, limit: int = 0) -> list[Row]:
    rows: list[Row] = pickle.loads(path.read_bytes())
    return rows[: limit or len(rows)]


def picked(rows: Sequence[Row], made: float, seed: int) -> list[int]:
    """The places of the rows to learn from: all labelled as they came, a share of those made."""
    draw = random.Random(seed)
    return [n for n, row in enumerate(rows) if not _made(row) or draw.random() < made]


def _made(row: Row) -> bool:
    return "+" in row.origin or row.origin in ("records", "answers")


if __name__ == "__main__":
    main()
