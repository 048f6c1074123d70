"""Answers as LLMs write them, on passages that the product found, as training rows.

A draft says of each sentence whether the passages hold it or whether it tells honestly what they
leave open, and names sentences that an LLM gets wrong on these passages. Whether the passages
answer the question is known too: passages that a search found and that do not answer are the near
misses of practice.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .rows import Label, Row, Task, cut, read, read_lines

FOUND = Path("build/found.jsonl.gz")
TRUNK = "written+draft"
_CITED = re.compile(r"\s*(?:\[\d+\])+")


@dataclass(frozen=True, slots=True)
class Drafted:
    """A draft with the passages it was written on."""

    question: str
    passages: Sequence[str]
    enough: str
    rests: Sequence[int]
    sentences: Sequence[dict[str, str]]
    wrong: Sequence[dict[str, Any]]

    @classmethod
    def of(cls, one: dict[str, Any], passages: Sequence[str]) -> Drafted:
        return cls(one["q"], passages, one["enough"], one["p"], one["d"], one["bad"])


def drafted(annotations: Path) -> list[Drafted]:
    """The drafts whose passages collect.py has cut."""
    passages = {one["id"]: one["passages"] for one in read(FOUND)} if FOUND.exists() else {}
    files = sorted(annotations.glob("*.jsonl"))
    every = [one for file in files for one in read_lines(file)]
    return [Drafted.of(one, passages[one["id"]]) for one in every if one["id"] in passages]


def draft_rows(drafts: Sequence[Drafted], seed: int) -> Iterator[Row]:
    for number, draft in enumerate(drafts):
        for row in _rows(draft, random.Random(f"{seed}draft{number}")):
            yield cut(row)


def _rows(draft: Drafted, draw: random.Random) -> Iterator[Row]:
    most = len(draft.passages)
    keep = max([draw.randint(min(2, most), most), *draft.rests])
    shown = list(draft.passages[:keep])
    whole = "\n".join(shown)
    left = [text for number, text in enumerate(shown, 1) if number not in draft.rests]
    without = "\n".join(left)

    def said(text: str, label: Label, evidence: str = whole, wrong: str = "") -> Row:
        plain = _CITED.sub("", text)
        at = plain.find(wrong) if wrong else -1
        spans = ((at, at + len(wrong)),) if at >= 0 else ()
        asked = draft.question if draw.random() < 0.75 else ""
        return Row(Task.SUPPORT, plain, evidence, label, TRUNK, asked, wrong=spans)

    def asked(evidence: str, label: Label) -> Row:
        return Row(Task.SUFFICIENCY, draft.question, evidence, label, f"{TRUNK}+question")

    backed = [one["t"] for one in draft.sentences if one["y"] == "s"]
    for sentence in draft.sentences:
        yield said(sentence["t"], Label.SUPPORTED)
    for error in draft.wrong:
        yield said(error["t"], Label.NOT_SUPPORTED, wrong=error["x"])
    if len(backed) > 1:
        yield said(" ".join(backed), Label.SUPPORTED)
        error = draw.choice(draft.wrong)
        texts = [sentence["t"] for sentence in draft.sentences]
        place = error["i"] - 1 if error["i"] else len(texts)
        texts[place : place + 1] = [error["t"]]
        yield said(" ".join(texts), Label.NOT_SUPPORTED, wrong=_CITED.sub("", error["x"]))
    answered = draft.enough == "yes"
    yield asked(whole, Label.SUPPORTED if answered else Label.NOT_MENTIONED)
    if answered and left:
        yield asked(without, Label.NOT_MENTIONED)
        yield said(" ".join(backed), Label.NOT_MENTIONED, without)
    if answered and len(draft.rests) == 1:
        yield asked(shown[draft.rests[0] - 1], Label.SUPPORTED)
        if left:
            yield asked(draw.choice(left), Label.NOT_MENTIONED)
