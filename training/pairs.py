"""The dev files as pairs to judge, each read in the ways the product may read it.

    python -m training.pairs --data ../shared/data --out build [--retrieved FILE]

Needs no GPU. Writes public.jsonl.gz (grounding and sufficiency), near.jsonl.gz (written cases, real
documents) and held.jsonl.gz (training questions kept for the blend of the gate), a line a pair.
`item` names what is judged as one, `truth` says whether it is
supported or answered, `way` how the evidence was read: near the claim; passages together, or one
alone; or none at all, for what can be told without evidence. --retrieved is a file of questions on
the real documents with the passages that were found for them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from suffice.text.claims import claims
from suffice.text.digest import digest
from suffice.text.tables import flatten

from .held import held_rows, with_company
from .rows import ENOUGH_ROOM, ROOM, apart, read, read_lines
from .written import Case, Passage, Stock, Twins, annotated, dev_cases, held_cases

Pair = dict[str, Any]
ANNOTATIONS = Path(__file__).parent / "data" / "written"


def claims_in(response: str) -> list[str]:
    """The statements of a response as they are judged, each with what it leans on."""
    return [one.alone for one in claims(response) if one.checkable] or [response]


def support(
    item: str, response: str, evidence: str, question: str, truth: bool, **more: Any
) -> Iterator[Pair]:
    for place, claim in enumerate(claims_in(response)):
        yield {
            "item": item, "claim": place, "task": 0, "said": claim, "question": question,
            "truth": truth, "way": "near",
            "evidence": digest(evidence, f"{question} {claim}", ROOM), **more,
        }  # fmt: skip


def sufficiency(
    item: str, question: str, passages: Sequence[str], truth: bool, **more: Any
) -> Iterator[Pair]:
    base = {
        "item": item, "claim": 0, "task": 1, "said": question, "question": "", "truth": truth,
        **more,
    }  # fmt: skip
    together = digest("\n".join(passages), question, ENOUGH_ROOM)
    yield base | {"way": "together", "evidence": together, "passages": list(passages)}
    if len(passages) > 1:
        for passage in passages:
            yield base | {"way": "alone", "evidence": digest(passage, question, ROOM)}


def public_pairs(data: Path, limit: int) -> Iterator[Pair]:
    draw = random.Random(7)
    for number, row in enumerate(_some(read(data / "grounding" / "dev.jsonl.gz"), limit, draw)):
        evidence = flatten(row["evidence"])
        name = f"{row['set']} {row['task']}" if row.get("task") else row["set"]
        yield from support(
            f"g{number}", row["claim"], evidence, row["question"] or "",
            row["label"] == "entail", set=name,
        )  # fmt: skip
    for number, row in enumerate(_some(read(data / "sufficiency" / "dev.jsonl.gz"), limit, draw)):
        yield from sufficiency(
            f"s{number}", row["question"], row["evidence"], row["sufficient"], set=row["set"]
        )


def _some(rows: Iterable[Case], limit: int, draw: random.Random) -> list[Case]:
    """So many rows of each set; all where no limit is given."""
    kept = list(rows)
    if not limit:
        return kept
    draw.shuffle(kept)
    held: dict[str, list[Case]] = {}
    for row in kept:
        held.setdefault(row["set"], []).append(row)
    return [row for some in held.values() for row in some[:limit]]


def written_pairs(cases: Sequence[Case], stock: Stock) -> Iterator[Pair]:
    """Questions in twins; answers and statements beside the whole of their passages; and each of
    them without any evidence."""
    for case in cases:
        twins = Twins(case, stock, random.Random(f"dev{case['id']}"))
        own, whole = twins.passages(), "\n".join(case["passages"])
        for place, qa in enumerate(case["qa"]):
            name = f"{case['id']} q{place}"
            lacking = twins.lacking(own, qa["p"], qa["q"])
            yield from _twins(f"{name}", "written questions", qa["q"], own, lacking)
            answers = [(qa["a"], True, "right"), *((w["t"], False, w["k"]) for w in qa["w"])]
            for number, (text, truth, kind) in enumerate(answers):
                yield from support(
                    f"{name} a{number}", text, whole, qa["q"], truth,
                    set="written answers", kind=kind, group=name,
                )  # fmt: skip
                yield _blind(f"{name} a{number}", "written answers", text, truth, 0)
        for place, near in enumerate(case["near"]):
            added = twins.added(own, near["s"], point=True)
            name = f"{case['id']} n{place}"
            yield from _twins(name, "written questions", near["q"], added, own)
        for place, statement in enumerate(case["c"]):
            truth, name = statement["y"] == "supported", f"{case['id']} c{place}"
            yield from support(
                name, statement["t"], whole, "", truth,
                set="written statements", kind=statement["y"],
            )  # fmt: skip
            yield _blind(name, "written statements", statement["t"], truth, 0)
            if truth:
                lacking = twins.lacking(own, range(1, 9), statement["t"])
                text = "\n".join(one.text for one in lacking)
                for ok, evidence in ((True, whole), (False, text)):
                    yield from support(
                        f"{name} {ok}", statement["t"], evidence, "", ok, set="statement twins"
                    )


def _twins(
    name: str, set_: str, question: str, enough: Sequence[Passage], lacking: Sequence[Passage]
) -> Iterator[Pair]:
    for truth, own in ((True, enough), (False, lacking)):
        texts = [one.text for one in own]
        yield from sufficiency(f"{name} {truth}", question, texts, truth, set=set_)
        yield _blind(f"{name} {truth}", set_, question, truth, 1)


def _blind(item: str, set_: str, text: str, truth: bool, task: int) -> Pair:
    return {
        "item": item, "claim": 0, "task": task, "said": text, "question": "", "truth": truth,
        "way": "none", "evidence": "", "set": f"{set_}, no evidence",
    }  # fmt: skip


def draft_pairs(data: Path) -> Iterator[Pair]:
    """The drafts on real documents; a right one and a wrong one of the same question are a pair."""
    for row in read_lines(data / "realdocs" / "drafts.jsonl"):
        evidence = "\n".join(f"{one['title']}\n{one['text']}" for one in row["evidence"])
        yield from support(
            row["id"], row["draft"], evidence, row["question"], row["correct"],
            set="real drafts", kind=row["kind"] or "right", group=row["id"].split("-")[0],
        )  # fmt: skip


def retrieved_pairs(path: Path, kept: int = 5) -> Iterator[Pair]:
    """Questions on real documents as retrieved; in twins where what was found holds the answer."""
    for row in read_lines(path):
        texts = ["\n".join([p["title"], *p["heading"], p["text"]]) for p in row["passages"]]
        found = texts[:kept]
        yield from sufficiency(
            row["id"], row["question"], found, row["answerable"], set="real questions"
        )
        if not row["answerable"]:
            continue
        groups = row["answers_all"]
        holds = [any(_holds(text, group) for group in groups) for text in texts]
        if all(any(_holds(text, group) for text in found) for group in groups):
            lacking = [text for text, one in zip(texts, holds, strict=True) if not one][:kept]
            for truth, some in ((True, found), (False, lacking)):
                yield from sufficiency(
                    f"{row['id']} {truth}", row["question"], some, truth, set="real twins"
                )


def _holds(text: str, group: Sequence[str]) -> bool:
    folded = " ".join(text.lower().split())
    return any(" ".join(one.lower().split()) in folded for one in group)


def write(path: Path, pairs: Iterable[Pair]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        for pair in pairs:
            file.write(json.dumps(pair) + "\n")
    print(f"wrote {path}")


def held_pairs(data: Path) -> Iterator[Pair]:
    """The questions that the gate's blend is fitted on: no verifier was trained on them. Each pair
    brings its passages, for what the gate looks at beside the verifier."""
    stock = Stock(annotated(data, ANNOTATIONS))
    for pair in written_pairs(held_cases(data, ANNOTATIONS), stock):
        if pair["set"] == "written questions":
            yield pair
    rows = list(apart(data / "sufficiency"))
    passages = list(dict.fromkeys(passage for row in rows for passage in row["evidence"]))
    for number, row in enumerate(with_company(held_rows(rows), passages)):
        yield from sufficiency(
            f"h{number}", row["question"], row["evidence"], row["sufficient"], set=row["set"]
        )


def near_pairs(data: Path, retrieved: Path | None) -> Iterator[Pair]:
    dev = dev_cases(data)
    yield from written_pairs(dev, Stock([*dev, *annotated(data, ANNOTATIONS)]))
    yield from draft_pairs(data)
    if retrieved:
        yield from retrieved_pairs(retrieved)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--retrieved", type=Path)
    parser.add_argument("--limit", type=int, default=0, help="rows of each public set")
    given = parser.parse_args()
    write(given.out / "held.jsonl.gz", held_pairs(given.data))
    write(given.out / "near.jsonl.gz", near_pairs(given.data, given.retrieved))
    write(given.out / "public.jsonl.gz", public_pairs(given.data, given.limit))


if __name__ == "__main__":
    main()
