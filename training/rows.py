"""Training rows for the verifiers: the labelled sets, and what is made from them.

A row is one pair to be judged: a claim or question beside evidence, with a task and a label. Made
rows: minimal edits of supported claims, evidence among distractors, records in the form of JSON
with sentences that say them right or wrong, and passages in tens for sufficiency. Every draw comes
from one seeded generator, so the same data gives the same rows.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

from records import record_rows


class Label(IntEnum):
    """Classes 0 to 2 are the model's own; NOT_SUPPORTED means one of the other two."""

    SUPPORTED = 0
    NOT_MENTIONED = 1
    CONTRADICTED = 2
    NOT_SUPPORTED = 3


class Task(IntEnum):
    SUPPORT = 0
    SUFFICIENCY = 1


@dataclass(frozen=True, slots=True)
class Row:
    """`said` is the claim (after its question, where there is one) or the question."""

    task: Task
    said: str
    evidence: str
    label: Label
    origin: str


ENOUGH_TIMES = 3
ENOUGH_ROOM = 2000

_LABELS = {
    "entail": Label.SUPPORTED,
    "neutral": Label.NOT_MENTIONED,
    "contradict": Label.CONTRADICTED,
    "not_entail": Label.NOT_SUPPORTED,
    "partial": Label.NOT_SUPPORTED,
}
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?![\s\"')\]])[^.!?\n]*)*[.!?]*[\"')\]]*\s*|\n")
_WORD = re.compile(r"[A-Za-z0-9]{3,}")
_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_NUMBER = re.compile(
    r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,-])\d+(?:\.\d+)?(?![\w,-]|\.\d)"
)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_VERB = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|will|would|may|must|does|did)\b(?! not)"
)
_SWAPS = {
    "all": "some", "some": "all", "most": "all", "many": "few", "few": "many",
    "always": "sometimes", "never": "often", "before": "after", "after": "before",
    "more": "less", "less": "more",
    "increased": "decreased", "decreased": "increased", "highest": "lowest", "first": "last",
    "may": "must", "must": "may", "only": "also", "increase": "decrease", "rise": "fall",
}  # fmt: skip


def read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def texts(row: dict[str, Any]) -> Iterator[str]:
    """The question and each piece of evidence of a row, folded; short ones ("Yes.") say nothing."""
    evidence = row["evidence"]
    pieces = evidence if isinstance(evidence, list) else [evidence]
    for text in (row.get("question") or "", *pieces):
        folded = " ".join(text.lower().split())
        if len(folded) > 40:
            yield folded


def apart(folder: Path) -> Iterator[dict[str, Any]]:
    """The training rows of a folder that share no question and no piece of evidence with its dev
    file. Sets with several passages a row share single ones, which would tell the answer."""
    dev = {text for row in read(folder / "dev.jsonl.gz") for text in texts(row)}
    return (row for row in read(folder / "train.jsonl.gz") if dev.isdisjoint(texts(row)))


def sentences(text: str) -> list[str]:
    return [found.group() for found in _SENTENCE.finditer(text) if found.group().strip()]


def digest(evidence: str, said: str, room: int) -> str:
    """Evidence within `room` characters: the sentences nearest in words to what is said."""
    if len(evidence) <= room:
        return evidence
    asked = set(_WORD.findall(said.lower()))
    parts = sentences(evidence)
    counts: dict[str, int] = {}
    held = [set(_WORD.findall(part.lower())) for part in parts]
    for words in held:
        for word in words & asked:
            counts[word] = counts.get(word, 0) + 1
    value = [sum(1 / counts[word] for word in words & asked) for words in held]
    chosen: set[int] = set()
    used = 0
    for place in sorted(range(len(parts)), key=lambda i: (-value[i], i)):
        if used + len(parts[place]) > room and chosen:
            continue
        chosen.add(place)
        used += len(parts[place])
    return "".join(parts[place] for place in sorted(chosen))[:room]


def said_of(row: dict[str, Any]) -> str:
    question = (row.get("question") or "").strip()
    return f"{question} {row['claim']}" if question else str(row["claim"])


def support_rows(rows: Iterable[dict[str, Any]], room: int, seed: int) -> Iterator[Row]:
    """The labelled rows, each with long evidence cut to what is near the claim."""
    draw = random.Random(seed)
    others: list[str] = []
    for row in rows:
        label, evidence = _LABELS[row["label"]], row["evidence"]
        origin = row["set"]
        said = said_of(row)
        yield Row(Task.SUPPORT, said, digest(evidence, said, room), label, origin)
        if label is Label.SUPPORTED:
            for edited, kind in edits(row["claim"], evidence, draw):
                said_edited = said_of({**row, "claim": edited})
                near = digest(evidence, said_edited, room)
                yield Row(Task.SUPPORT, said_edited, near, kind, f"{origin}+edit")
        if others and len(evidence) < 400 and draw.random() < 0.3:
            company = [*draw.sample(others, min(len(others), draw.randint(1, 4))), evidence]
            draw.shuffle(company)
            among = digest("\n".join(company), said, room)
            # A stranger's sentence may speak for or against by chance; rarely enough to be noise.
            yield Row(Task.SUPPORT, said, among, label, f"{origin}+company")
        if len(evidence) < 600:
            others.append(evidence)
            others = others[-200:]


def edits(claim: str, evidence: str, draw: random.Random) -> Iterator[tuple[str, Label]]:
    """At most one small change of a supported claim that the evidence no longer supports."""
    makers = [_other_number, _other_name, _negated, _other_word]
    draw.shuffle(makers)
    if draw.random() > 0.6:
        return
    for make in makers:
        made = make(claim, evidence, draw)
        if made:
            yield made
            return


def _other_number(claim: str, evidence: str, draw: random.Random) -> tuple[str, Label] | None:
    found = [m for m in _NUMBER.finditer(claim) if m.group() in evidence]
    if not found:
        return None
    match = draw.choice(found)
    rivals = [n for n in _NUMBER.findall(evidence) if n not in claim]
    plain = match.group().replace(",", "")
    if rivals and draw.random() < 0.4:
        new = draw.choice(rivals)
    elif "." in plain:
        new = f"{float(plain) * draw.choice((0.5, 0.9, 1.1, 2)):.{len(plain.split('.')[1])}f}"
    else:
        step = draw.choice((1, 2, 5, 10, max(1, int(plain) // 3))) if len(plain) < 16 else 1
        new = str(max(0, int(plain) + draw.choice((-1, 1)) * step))
    if new == plain:
        return None
    return claim[: match.start()] + new + claim[match.end() :], Label.NOT_SUPPORTED


def _other_name(claim: str, evidence: str, draw: random.Random) -> tuple[str, Label] | None:
    for group in (_MONTHS, _DAYS):
        named = [name for name in group if name in claim and name in evidence]
        if named:
            new = draw.choice([name for name in group if name != named[0]])
            return claim.replace(named[0], new), Label.NOT_SUPPORTED
    names = [name for name in _NAME.findall(claim) if name in evidence]
    rivals = [name for name in set(_NAME.findall(evidence)) if name not in claim]
    if not names or not rivals:
        return None
    return claim.replace(draw.choice(names), draw.choice(sorted(rivals)), 1), Label.NOT_SUPPORTED


def _negated(claim: str, evidence: str, draw: random.Random) -> tuple[str, Label] | None:
    if " not " in claim:
        return claim.replace(" not ", " ", 1), Label.CONTRADICTED
    match = _VERB.search(claim)
    if not match:
        return None
    return f"{claim[: match.end()]} not{claim[match.end() :]}", Label.CONTRADICTED


def _other_word(claim: str, evidence: str, draw: random.Random) -> tuple[str, Label] | None:
    found = [word for word in _SWAPS if re.search(rf"\b{word}\b", claim)]
    if not found:
        return None
    word = draw.choice(found)
    return re.sub(rf"\b{word}\b", _SWAPS[word], claim, count=1), Label.NOT_SUPPORTED


def sufficiency_rows(rows: Sequence[dict[str, Any]], room: int, seed: int) -> Iterator[Row]:
    """The labelled rows, passages in tens, and sets of passages with one needed passage gone."""
    draw = random.Random(seed)
    pool = [passage for row in rows for passage in row["evidence"]]
    shelf: dict[str, list[int]] = {}
    for number, passage in enumerate(pool):
        for word in set(_WORD.findall(passage.lower())):
            if len(word) > 5:
                shelf.setdefault(word, []).append(number)
    for row in rows:
        question, passages = row["question"], row["evidence"]
        label = Label.SUPPORTED if row["sufficient"] else Label.NOT_MENTIONED
        yield _sufficiency(question, passages, label, row["set"], room)
        company = _company(question, passages, pool, shelf, draw)
        mixed = [*passages, *company]
        draw.shuffle(mixed)
        if draw.random() < 0.7:
            yield _sufficiency(question, mixed, label, f"{row['set']}+company", room)
        if company and draw.random() < 0.35:
            none = Label.NOT_MENTIONED
            yield _sufficiency(question, company, none, f"{row['set']}+strangers", room)
        if row["sufficient"] and len(passages) > 1:
            left = list(passages)
            left.pop(draw.randrange(len(left)))
            yield _sufficiency(question, left, Label.NOT_MENTIONED, f"{row['set']}+dropped", room)


def _company(
    question: str,
    passages: Sequence[str],
    pool: Sequence[str],
    shelf: dict[str, list[int]],
    draw: random.Random,
) -> list[str]:
    """Passages that share a rare word with the question: near misses, not noise."""
    numbers: list[int] = []
    words = [word for word in set(_WORD.findall(question.lower())) if word in shelf]
    for word in sorted(words, key=lambda w: len(shelf[w]))[:4]:
        numbers += draw.sample(shelf[word], min(4, len(shelf[word])))
    numbers += [draw.randrange(len(pool)) for _ in range(2)]
    near = [pool[n][:700] for n in dict.fromkeys(numbers) if pool[n] not in passages]
    return near[: draw.randint(1, 9)]


def _sufficiency(
    question: str, passages: Sequence[str], label: Label, origin: str, room: int
) -> Row:
    evidence = digest("\n".join(passages), question, room)
    return Row(Task.SUFFICIENCY, question, evidence, label, origin)


def all_rows(data: Path, room: int, seed: int, *, made: bool = True) -> list[Row]:
    """Everything to train on, shuffled. `made=False` leaves the labelled rows alone.

    Sufficiency has a tenth of the rows, so each counts `ENOUGH_TIMES`; its passages get more room.
    """
    support = list(support_rows(apart(data / "grounding"), room, seed))
    labelled = list(apart(data / "sufficiency"))
    enough = [
        row
        for turn in range(ENOUGH_TIMES)
        for row in sufficiency_rows(labelled, ENOUGH_ROOM, seed + turn)
    ]
    rows = [row for row in support + enough if made or "+" not in row.origin]
    if made:
        rows += [
            Row(Task.SUPPORT, claim, digest(evidence, claim, room), Label(label), "records")
            for claim, evidence, label in record_rows(40_000, seed)
        ]
    random.Random(seed).shuffle(rows)
    return rows
