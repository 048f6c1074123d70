"""Count in how many passages of the training rows each word stands, for `suffice.text.words`.

    python -m training.rarity [--data ../shared/data]

Needs no GPU. Writes words by level, commonest first; a word that is not written is rare.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from suffice.text.words import FILE, LEVELS, folded

from .rows import apart

_COMMON = 3.0
"""The logarithm of passages to one that holds the word, under which it tells nothing: 1 in 20."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    folder = parser.parse_args().data / "sufficiency"
    passages = {text for row in apart(folder) for text in row["evidence"]}
    FILE.write_text(written(passages), encoding="utf-8")
    print(f"{len(passages)} passages counted, {FILE}")


def written(passages: Iterable[str]) -> str:
    """One line a level, its words in order."""
    counts: Counter[str] = Counter()
    total = 0
    for text in passages:
        counts.update(set(folded(text)))
        total += 1
    levels: list[list[str]] = [[] for _ in range(LEVELS)]
    for word, count in sorted(counts.items()):
        level = max(0, int(math.log(total / (count + 1)) - _COMMON))
        if level < LEVELS:
            levels[level].append(word)
    return "".join(" ".join(words) + "\n" for words in levels)


if __name__ == "__main__":
    main()
