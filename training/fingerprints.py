"""Fingerprints of the texts that are measured on, so that a checkout without the data can tell
whether a training row holds one of them.

    python -m training.fingerprints --data ../shared/data

Writes tests/training/dev_fingerprints.txt: case ids, questions, answers, statements and drafts of
`written` dev and `realdocs`, as short hashes of the folded text.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from .rows import read, read_lines

FILE = Path(__file__).parent.parent / "tests" / "training" / "dev_fingerprints.txt"
_DIGITS = 12
_TEXTS = frozenset(("id", "q", "a", "t", "s", "question", "draft"))
"""The fields of a case that hold an id or a sentence of an annotator's."""


def fingerprint(text: str) -> str:
    """The same for texts that differ in case and white space only."""
    return sha256(" ".join(text.lower().split()).encode()).hexdigest()[:_DIGITS]


def fingerprints(case: Any) -> Iterator[str]:
    """Of every annotated text of a case, however deep it stands."""
    if isinstance(case, dict):
        for name, value in case.items():
            if name in _TEXTS and isinstance(value, str):
                yield fingerprint(value)
            else:
                yield from fingerprints(value)
    elif isinstance(case, list):
        for value in case:
            yield from fingerprints(value)


def measured_on(data: Path) -> set[str]:
    real = data / "realdocs"
    cases: Iterable[Any] = [
        *read(data / "written" / "dev.jsonl.gz"),
        *read_lines(real / "questions.jsonl"),
        *read_lines(real / "drafts.jsonl"),
    ]
    return {found for case in cases for found in fingerprints(case)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    found = sorted(measured_on(parser.parse_args().data))
    FILE.write_text("\n".join(found) + "\n", "utf-8")
    print(f"{len(found)} texts in {FILE.name}")


if __name__ == "__main__":
    main()
