"""Find the passages for the questions on real documents, as the product finds them.

    python -m training.retrieve --data ../shared/data --out build/retrieved.jsonl

Needs no GPU. Indexes both collections in a temporary folder, a few minutes each.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import tempfile
from pathlib import Path

from suffice import Library

from .rows import read_lines

FOUND = 12


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    folder = given.data / "realdocs"
    questions = list(read_lines(folder / "questions.jsonl"))
    with tempfile.TemporaryDirectory() as scratch, given.out.open("w", encoding="utf-8") as out:
        with tarfile.open(folder / "docs.tar.gz") as documents:
            documents.extractall(scratch, filter="data")
        for name in sorted({row["collection"] for row in questions}):
            library = Library.open(f"{scratch}/{name}.db", create=True)
            library.add(f"{scratch}/{name}")
            search = library.search(top=FOUND)
            for row in questions:
                if row["collection"] == name:
                    found = [item.passage for item in search(row["question"])]
                    passages = [
                        {"title": one.title, "heading": list(one.heading), "text": one.text}
                        for one in found
                    ]
                    out.write(json.dumps(row | {"passages": passages}) + "\n")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
