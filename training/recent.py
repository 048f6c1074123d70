"""Prepare a short round: the newest written cases twice, the drafts, and a part of the older rows.

    python -m training.recent --data ../shared/data --out build --first 49

Needs no GPU. Writes new-1.npz and new-2.npz (the cases of file FIRST and later, each with other
evidence), old.npz (some of the other cases), drafts.npz, and few.npz (a part of the labelled rows),
so that a training of minutes sees what is new and forgets nothing. Before it: collect.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from .drafts import draft_rows, drafted
from .prepare import ANNOTATIONS, DRAFTS, labelled, write
from .rows import read_lines
from .written import training_cases, written_rows

FEW = {"documents": 25_000, "questions": 15_000, "company": 6000, "pairs": 10_000, "records": 3000}
"""How many of the labelled rows, by sort."""
OLDER = 1800
DRAFTED = 3
"""How often each draft is read, each time with more or fewer of its passages."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", type=Path, default=Path("build/bases/msmarco"))
    parser.add_argument("--first", type=int, required=True, help="number of the first new file")
    given = parser.parse_args()
    files = [file for file in ANNOTATIONS.glob("*.jsonl") if int(file.stem) >= given.first]
    ids = {case["id"] for file in files for case in read_lines(file)}
    cases = training_cases(given.data, ANNOTATIONS)
    new = [case for case in cases if case["id"] in ids]
    old = random.Random(3).sample([case for case in cases if case["id"] not in ids], OLDER)
    answers = drafted(DRAFTS)
    draw = random.Random(5)
    few = [
        row
        for name, rows in labelled(given.data).items()
        for row in draw.sample(rows, min(len(rows), FEW[name]))
    ]
    made = {
        "new-1": written_rows(new, 101),
        "new-2": written_rows(new, 102),
        "old": written_rows(old, 103),
        "drafts": (row for seed in range(DRAFTED) for row in draft_rows(answers, seed)),
        "few": few,
    }
    for name, rows in made.items():
        write(given.out / f"{name}.npz", rows, given.base)


if __name__ == "__main__":
    main()
