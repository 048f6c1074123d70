"""A tenth of the sufficiency questions kept from the verifiers, to fit the gate's blend on.

    python -m training.held --data ../shared/data --out held.jsonl.gz

What a model was trained on it knows too well: a blend fitted there would trust it too much. Rows
that share a question or a passage are kept together. Written as rows of the sufficiency format:
each row as it stands, and again among passages that are near and do not answer.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .rows import COMPANY, Answering, Row, Task, WordIndex, apart

SHARE = 10
LARGEST = 100
"""Rows that hang together in greater number are all trained on."""
OPENING = 80


def held_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One group in ten of the rows that hang together, by the hash of its first question."""
    leads: dict[str, str] = {}

    def lead(text: str) -> str:
        while leads.setdefault(text, text) != text:
            leads[text] = leads[leads[text]]
            text = leads[text]
        return text

    for row in rows:
        for passage in row["evidence"]:
            leads[lead(f"question {row['question']}")] = lead(passage)
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[lead(f"question {row['question']}")].append(row)
    return [
        row
        for group in groups.values()
        if len(group) <= LARGEST and _drawn(min(row["question"] for row in group))
        for row in group
    ]


def _drawn(question: str) -> bool:
    return int(hashlib.sha256(question.encode()).hexdigest(), 16) % SHARE == 0


class Held:
    """Tells the training rows that were made from what is held."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        self.questions = {row["question"] for row in rows}
        self.openings = {passage[:OPENING] for row in rows for passage in row["evidence"]}

    def __contains__(self, row: Row) -> bool:
        asked = row.text if row.task is Task.SUFFICIENCY else row.question
        lines = row.evidence.split("\n")
        return asked in self.questions or any(line[:OPENING] in self.openings for line in lines)


def with_company(rows: Sequence[dict[str, Any]], stock: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Each row, and again with passages that are near its question and do not answer it."""
    index, answering, draw = WordIndex(stock), Answering(rows), random.Random(11)
    for row in rows:
        yield row
        near = [text for text in index.near(row["question"], draw) if text not in row["evidence"]]
        strangers = [text for text in near if not answering(row, text)][: draw.randint(2, 9)]
        if not strangers or row["set"] not in COMPANY:
            continue
        mixed = draw.sample([*row["evidence"], *strangers], len(strangers) + len(row["evidence"]))
        yield row | {"evidence": mixed, "set": f"{row['set']}+company"}
        if row["sufficient"] and row.get("answer"):
            name = f"{row['set']}+strangers"
            yield row | {"evidence": strangers, "set": name, "sufficient": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    rows = list(apart(arguments.data / "sufficiency"))
    stock = list(dict.fromkeys(passage for row in rows for passage in row["evidence"]))
    with gzip.open(arguments.out, "wt", encoding="utf-8") as file:
        for row in with_company(held_rows(rows), stock):
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
