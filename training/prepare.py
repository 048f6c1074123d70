"""Prepare the training rows.

    python -m training.prepare --data ../shared/data --out build [--draws 7]

Needs no GPU. Writes pairs.npz, documents.npz, company.npz, questions.npz and records.npz (rows of
the labelled sets, and what is made from them, by sort) and written-0.npz and on (the written cases,
each time with other evidence beside them), as token ids. The last draws also hold rows for a
teacher to label. The same data and seed give the same rows.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from .drafts import draft_rows, drafted
from .encoded import Encoded, load_tokenizer
from .held import Held, held_rows
from .rows import Row, Task, all_rows, apart
from .written import training_cases, written_rows

SEED = 7
ANNOTATIONS = Path(__file__).parent / "data" / "written"
DRAFTS = Path(__file__).parent / "data" / "drafted"
MOST = {"pairs": 5000, "documents": 9000, "company": 1500, "questions": 9000, "records": 9000}
"""The most rows of an origin, by sort: a large set of short pairs must not decide everything."""
SHORT = set(
    "snli snli_20k mnli mnli_binary wanli taxinli10k scitail conjnli cad_nli breaking_nli med "
    "true_paws equate_numeric_nli fever_symmetric".split()
)
"""Sets of two sentences a row."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", type=Path, default=Path("build/bases/msmarco"))
    parser.add_argument("--draws", type=int, default=7)
    parser.add_argument("--taught", type=int, default=1, help="of the draws, those for a teacher")
    parser.add_argument("--only", choices=("labelled", "written"))
    given = parser.parse_args()
    if given.only != "written":
        for name, rows in labelled(given.data).items():
            write(given.out / f"{name}.npz", rows, given.base)
    if given.only != "labelled":
        draw = partial(written, given.data, given.out, given.base, given.draws - given.taught)
        with Pool() as workers:
            workers.map(draw, range(given.draws), chunksize=1)


def labelled(data: Path) -> dict[str, list[Row]]:
    held = Held(held_rows(list(apart(data / "sufficiency"))))
    counts: Counter[str] = Counter()
    kept: dict[str, list[Row]] = {name: [] for name in MOST}
    for row in all_rows(data, SEED):
        if counts[row.origin] < MOST[sort(row)] and row not in held:
            counts[row.origin] += 1
            kept[sort(row)].append(row)
    return kept


def sort(row: Row) -> str:
    if row.task is Task.SUFFICIENCY:
        return "questions"
    if row.origin.endswith("+company"):
        return "company"
    if row.origin == "records":
        return "records"
    return "pairs" if row.origin in SHORT else "documents"


def written(data: Path, out: Path, base: Path, taught: int, number: int) -> None:
    """Written cases and drafts, each draw with other evidence."""
    cases = training_cases(data, ANNOTATIONS)
    rows = [
        *written_rows(cases, SEED + number, partial=number >= taught),
        *draft_rows(drafted(DRAFTS), SEED + number),
    ]
    write(out / f"written-{number}.npz", rows, base)


def write(path: Path, rows: Iterable[Row], base: Path) -> None:
    kept: Sequence[Row] = list(rows)
    kept = random.Random(SEED).sample(kept, len(kept))
    Encoded.of(load_tokenizer(base), kept).save(path)
    counts = Counter(row.origin for row in kept)
    path.with_suffix(".json").write_text(json.dumps(dict(sorted(counts.items())), indent=2) + "\n")
    print(f"{path}: {len(kept)} rows", flush=True)


if __name__ == "__main__":
    main()
