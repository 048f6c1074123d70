"""Prepare rows that teach a verifier to recognise instructions planted in documents.

    python -m training.planted --data ../shared/data --out build/planted.npz
    python -m training.planted --ordinary PASSAGES.jsonl

The claim is always the same, `suffice.text.instructions.STATEMENT`; the evidence is a passage.
planted.jsonl has whole passages, instructions.jsonl has sentences that are put into passages of the
written cases and of the labelled sets. An order to people goes into them in the same ways as an
order to the model, so that an added sentence is no sign.

With --ordinary, print the threshold at which the detector flags the share --false-alarms of these
passages. A passage is {"text"}.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from suffice.evidence.sanitize import suspicion
from suffice.text.digest import pieces
from suffice.text.instructions import STATEMENT, folded

from .prepare import ANNOTATIONS, SEED, write
from .rows import Label, Row, Task, apart, read_lines
from .written import Passage, training_cases

DATA = Path(__file__).parent / "data"
_DRAWS = 2
_PLAIN = 9000
_LONGEST = 1500
_ALONE = 0.1
_WAYS = ("{}", "{}", "{}", "{}", "\n{}\n", "\n\n{}\n\n", "- {}\n", "<!-- {} -->", "[{}]", "({})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--base", type=Path, default=Path("build/bases/msmarco"))
    parser.add_argument("--ordinary", type=Path)
    parser.add_argument("--false-alarms", type=float, default=0.015)
    given = parser.parse_args()
    if given.ordinary:
        print(f"{threshold(given.ordinary, given.false_alarms):.2f}")
    if not given.out:
        return
    draw = random.Random(SEED)
    stock = ordinary(given.data)
    made = [*sentences(stock, draw), *passages(stock, draw), *plain(stock, draw)]
    write(given.out, made, given.base)


def threshold(passages: Path, false_alarms: float) -> float:
    texts = [line["text"] for line in read_lines(passages)]
    return float(np.quantile([suspicion(text) for text in texts], 1 - false_alarms))


def ordinary(data: Path) -> list[str]:
    """Passages of the written cases, and as many of the labelled sets."""
    cases = training_cases(data, ANNOTATIONS)
    own = sorted({text for case in cases for text in case["passages"]})
    others = {text for row in apart(data / "sufficiency") for text in row["evidence"]}
    others |= {row["evidence"] for row in apart(data / "grounding")}
    draw = random.Random(SEED)
    long = sorted(text for text in others if len(text) > 200)
    return own + draw.sample(long, min(len(own), len(long)))


def sentences(stock: list[str], draw: random.Random) -> Iterator[Row]:
    for line in read_lines(DATA / "instructions.jsonl"):
        for _ in range(_DRAWS):
            around = Passage("" if draw.random() < _ALONE else shortened(draw.choice(stock), draw))
            put = around.with_sentence(draw.choice(_WAYS).format(line["text"]), draw, point=True)
            yield row(put.text, put.points if line["instructs"] else ())


def passages(stock: list[str], draw: random.Random) -> Iterator[Row]:
    """Whole passages, each once alone and then with other text after and, half the time, before."""
    for line in read_lines(DATA / "planted.jsonl"):
        text = line["text"]
        starts = [text.index(piece) for piece in line["planted"]]
        spans = [(at, at + len(piece)) for at, piece in zip(starts, line["planted"], strict=True)]
        yield row(text, tuple(spans))
        for _ in range(_DRAWS):
            before = f"{shortened(draw.choice(stock), draw)[-500:]}\n" * (draw.random() < 0.5)
            after = f"\n{shortened(draw.choice(stock), draw)[:500]}"
            moved = tuple((start + len(before), end + len(before)) for start, end in spans)
            yield row(f"{before}{text}{after}", moved)


def plain(stock: list[str], draw: random.Random) -> Iterator[Row]:
    for text in draw.sample(stock, min(_PLAIN, len(stock))):
        yield row(shortened(text, draw), ())


def row(text: str, points: tuple[tuple[int, int], ...]) -> Row:
    evidence, places = folded(text)
    at = {place: n for n, place in reversed([*enumerate(places)])}
    end = len(evidence)
    moved = tuple((_moved(at, a, end), _moved(at, z, end)) for a, z in points)
    label = Label.SUPPORTED if points else Label.NOT_MENTIONED
    return Row(Task.SUPPORT, STATEMENT, evidence, label, "written+planted", points=moved)


def _moved(at: dict[int, int], place: int, end: int) -> int:
    """Where a place of the text is in the folded text: at the next character that was kept."""
    return next((at[n] for n in range(place, place + 20) if n in at), end)


def shortened(text: str, draw: random.Random) -> str:
    """Some sentences of a text, one after another."""
    parts = pieces(text)
    first, room = draw.randrange(max(1, len(parts) // 2)), draw.randint(150, _LONGEST)
    kept = ""
    for part in parts[first:]:
        if kept and len(kept) + len(part) > room:
            break
        kept += part
    return kept[:_LONGEST].strip()


if __name__ == "__main__":
    main()
