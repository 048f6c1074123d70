"""The dev files as pairs to judge, each read in the ways the product may read it.

    python training/pairs.py --data ../shared/data --out pairs.jsonl.gz [--held held.jsonl.gz]

Needs no GPU. `way` says how the evidence was cut: near the claim, or near the whole answer;
and for sufficiency: passages together, or one alone. Held rows (held.py) follow, marked as such.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rows import ENOUGH_ROOM, ROOM, read
from suffice.text.claims import claims
from suffice.text.digest import digest
from suffice.text.flatten import flatten

SHARED = {"shared": 1400, "shared long": 2000}


def said_in(response: str) -> list[str]:
    """The statements of a response as they are judged, each with what it leans on."""
    return [one.alone for one in claims(response) if one.checkable] or [response]


def grounding_pairs(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(rows):
        evidence, question = flatten(row["evidence"]), row["question"] or ""
        answer = f"{question} {row['claim']}"
        shared = {way: digest(evidence, answer, room) for way, room in SHARED.items()}
        for place, said in enumerate(said_in(row["claim"])):
            base = {"row": number, "claim": place, "task": 0, "said": said, "question": question}
            asked = f"{question} {said}"
            yield base | {"way": "near", "evidence": digest(evidence, asked, ROOM)}
            for way, cut in shared.items():
                if len(cut) < len(evidence):
                    yield base | {"way": way, "evidence": cut}


def sufficiency_pairs(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(rows):
        passages, said = row["evidence"], row["question"]
        base = {"row": number, "claim": 0, "task": 1, "said": said, "question": ""}
        together = digest("\n".join(passages), said, ENOUGH_ROOM)
        yield base | {"way": "together", "evidence": together}
        if len(passages) > 1:
            for place, passage in enumerate(passages):
                alone = digest(passage, said, ROOM)
                yield base | {"way": "alone", "claim": place, "evidence": alone}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held", type=Path, help="rows for the gate's blend, judged as well")
    arguments = parser.parse_args()
    with gzip.open(arguments.out, "wt", encoding="utf-8") as file:
        for pair in grounding_pairs(read(arguments.data / "grounding" / "dev.jsonl.gz")):
            file.write(json.dumps(pair) + "\n")
        for pair in sufficiency_pairs(read(arguments.data / "sufficiency" / "dev.jsonl.gz")):
            file.write(json.dumps(pair) + "\n")
        for pair in sufficiency_pairs(read(arguments.held)) if arguments.held else ():
            file.write(json.dumps(pair | {"held": True}) + "\n")


if __name__ == "__main__":
    main()
