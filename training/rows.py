"""Training rows for the verifiers: the labelled sets, and what is made from them.

A row is one pair to be judged: a claim or question beside evidence, with a task and a label. Every
draw comes from one seeded generator, so the same data gives the same rows. UNLABELLED rows are for
the teacher to label, when the strong tier is distilled into the fast one. No row pairs a sentence
of its evidence with an edited copy of it: that teaches a model to count words.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import accumulate
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from suffice.text.digest import choose, digest, nearness, pieces, word_prefixes
from suffice.text.tables import flatten

from .records import record_rows


class Label(IntEnum):
    """Classes 0 to 2 are the model's own; NOT_SUPPORTED means one of the other two."""

    SUPPORTED = 0
    NOT_MENTIONED = 1
    CONTRADICTED = 2
    NOT_SUPPORTED = 3
    UNLABELLED = 4


class Task(IntEnum):
    SUPPORT = 0
    SUFFICIENCY = 1


@dataclass(frozen=True, slots=True)
class Row:
    """`text` is the claim, with the `question` it answers where there is one, or the question."""

    task: Task
    text: str
    evidence: str
    label: Label
    origin: str
    question: str = ""
    points: tuple[Span, ...] = ()
    """Spans of the sentences in the evidence that support or answer, if known."""
    wrong: tuple[Span, ...] = ()
    """Spans of the unsupported words in `text`, if known."""


Span = tuple[int, int]
ROOM = 1800
ENOUGH_ROOM = 2000
RECORDS = 24_000

_LABELS = {
    "entail": Label.SUPPORTED,
    "neutral": Label.NOT_MENTIONED,
    "contradict": Label.CONTRADICTED,
    "not_entail": Label.NOT_SUPPORTED,
    "partial": Label.NOT_SUPPORTED,
}
# Sets whose evidence is a document, as it is in use, count more often; pairs of captions less.
_TIMES = {
    "true_summeval": 2, "bump": 3, "true_frank": 3, "defacto": 2, "begin": 2,
    "citation_integrity": 2, "scitab": 2, "fm2": 2,
    "snli": 0.15, "snli_20k": 0.2, "med": 0.5, "breaking_nli": 0.4, "cad_nli": 0.6,
    "mnli": 0.5, "mnli_binary": 0.5, "conjnli": 0.6,
}  # fmt: skip
_ENOUGH_TIMES = {"squad2": 3, "ud_squad": 3, "ud_nq": 4, "ud_musique": 3, "qnli": 1}
# Sets whose questions one passage answers: further passages change nothing.
COMPANY = ("squad2", "ud_squad", "ud_nq", "ares_nq", "ares_wow", "ares_hotpotqa", "ares_fever")
# Sets whose unanswered questions were made so that nothing answers them.
_NEVER_ANSWERED = ("squad2", "ud_squad")
_WORD = re.compile(r"[A-Za-z0-9]{3,}")


def read(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def texts(row: dict[str, Any]) -> Iterator[str]:
    """The question and the evidence of a row, folded; short ones ("Yes.") say nothing."""
    evidence = row["evidence"]
    whole = "\n".join(sorted(evidence)) if isinstance(evidence, list) else evidence
    for text in (row.get("question") or "", whole):
        folded = " ".join(text.lower().split())
        if len(folded) > 40:
            yield folded


def apart(folder: Path) -> Iterator[dict[str, Any]]:
    """The training rows of a folder whose question and whose evidence do not stand in its dev file.
    Sets with several passages a row (MuSiQue) draw them from one pool: single passages recur, the
    rows do not."""
    dev = {text for row in read(folder / "dev.jsonl.gz") for text in texts(row)}
    return (row for row in read(folder / "train.jsonl.gz") if dev.isdisjoint(texts(row)))


class WordIndex:
    """Finds texts by their rare words: near misses rather than noise."""

    def __init__(self, stock: Sequence[str]) -> None:
        self.stock = stock
        self.places: dict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(stock):
            for word in set(_WORD.findall(text.lower())):
                if len(word) > 4:
                    self.places[word].append(number)

    def near(self, text: str, draw: random.Random, words: int = 6, each: int = 12) -> list[str]:
        """The texts that share most of the rarest words, then those that share one."""
        held = {word for word in _WORD.findall(text.lower()) if word in self.places}
        shared: Counter[int] = Counter()
        for word in sorted(held, key=lambda w: (len(self.places[w]), w))[:words]:
            shared.update(draw.sample(self.places[word], min(each, len(self.places[word]))))
        return [self.stock[number] for number, _ in shared.most_common()]


def support_rows(rows: Iterable[dict[str, Any]], seed: int) -> Iterator[Row]:
    """The labelled rows, and evidence among strangers."""
    draw = random.Random(seed)
    others: list[str] = []
    for raw in rows:
        times = _TIMES.get(raw["set"], 1)
        evidence, long = flatten(raw["evidence"]), len(raw["evidence"]) > 300
        label = _LABELS[raw["label"]]
        wrong = tuple((start, end) for start, end, *_ in raw.get("spans") or ())
        row = Row(
            Task.SUPPORT, raw["claim"], evidence, label, raw["set"], raw["question"] or "",
            wrong=wrong,
        )  # fmt: skip
        for turn in range(int(times) + (draw.random() < times % 1)):
            if turn == 0 or not long:
                yield row
            else:
                yield replace(row, evidence=_partial(evidence, row.text, draw))
        likely = 0.4 if label is Label.SUPPORTED else 0.2
        if others and len(evidence) < 400 and draw.random() < likely:
            company = [*draw.sample(others, min(len(others), draw.randint(1, 6))), evidence]
            draw.shuffle(company)
            # A stranger's sentence may speak for or against by chance; rarely enough to be noise.
            yield replace(row, evidence="\n".join(company), origin=f"{row.origin}+company")
        if len(evidence) < 600:
            others.append(evidence)
            others = others[-200:]


def _partial(evidence: str, text: str, draw: random.Random) -> str:
    """Another cut of long evidence: what is near the claim stays, some of the rest goes."""
    kept = digest(evidence, text, ROOM * 2 // 3)
    parts = [part for part in pieces(evidence) if part in kept or draw.random() < 0.3]
    return "".join(parts)


def whole_sentences(rows: Sequence[dict[str, Any]]) -> Iterator[Row]:
    """Each sentence of a supported summary is supported; of a minimal pair, the one that differs
    is not."""
    pairs: dict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        if row["set"] in ("true_summeval", "true_frank", "bump", "defacto"):
            parts = [part.strip() for part in pieces(row["claim"])]
            if row["label"] == "entail" and len(parts) > 1:
                for part in parts:
                    yield Row(
                        Task.SUPPORT, part, row["evidence"], Label.SUPPORTED,
                        f"{row['set']}+sentence",
                    )  # fmt: skip
            if row["set"] == "bump":
                pairs[row["evidence"]][row["label"]] = row["claim"]
    for evidence, both in pairs.items():
        right = {part.strip() for part in pieces(both.get("entail", ""))}
        wrong = [part.strip() for part in pieces(both.get("not_entail", ""))]
        changed = [part for part in wrong if part not in right]
        if right and len(changed) == 1:
            yield Row(Task.SUPPORT, changed[0], evidence, Label.NOT_SUPPORTED, "bump+sentence")


def answer_rows(rows: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """Short answers as claims: beside passages that give them, and beside passages that do not."""
    for row in rows:
        if answer := row.get("answer"):
            label = Label.SUPPORTED if row["sufficient"] else Label.NOT_SUPPORTED
            evidence = "\n".join(row["evidence"])
            yield Row(Task.SUPPORT, answer, evidence, label, "answers", row["question"])


def sufficiency_rows(rows: Sequence[dict[str, Any]], seed: int) -> Iterator[Row]:
    """The labelled rows; passages in tens; the needed passage or sentence gone."""
    draw = random.Random(seed)
    stock = list(dict.fromkeys(passage for row in rows for passage in row["evidence"]))
    index, answering = WordIndex(stock), Answering(rows)
    for raw in rows:
        label = Label.SUPPORTED if raw["sufficient"] else Label.NOT_MENTIONED
        plain = Row(
            Task.SUFFICIENCY, raw["question"], "\n".join(raw["evidence"]), label, raw["set"]
        )
        yield plain
        for _ in range(_ENOUGH_TIMES.get(raw["set"], 1) - 1):
            yield replace(plain, evidence=_shuffled(raw["evidence"], draw))
        near = [text for text in index.near(plain.text, draw) if text not in raw["evidence"]]
        # Company that might answer leaves the label true only where the answer is there already.
        strangers = [text for text in near if not answering(raw, text)]
        company = near if raw["sufficient"] else strangers
        if raw["set"] in COMPANY and company and draw.random() < 0.6:
            mixed = [*raw["evidence"], *(text[:900] for text in company[: draw.randint(1, 9)])]
            name = f"{plain.origin}+company"
            yield replace(plain, evidence=_shuffled(mixed, draw), origin=name)
        if raw["sufficient"]:
            yield from _lacking(raw, plain, strangers, draw)


def _shuffled(passages: Sequence[str], draw: random.Random) -> str:
    return "\n".join(draw.sample(passages, len(passages)))


class Answering:
    """Tells the passages that may answer a question: those that some row says answer it, and those
    that hold its answer. A question with neither is taken to be answered by anything near."""

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self.known: dict[str, set[str]] = defaultdict(set)
        for row in rows:
            if row["sufficient"]:
                self.known[row["question"]].update(row["evidence"])

    def __call__(self, row: dict[str, Any], passage: str) -> bool:
        answer = (row.get("answer") or "").lower()
        if len(answer) > 2:
            return answer in passage.lower()
        if row["question"] in self.known:
            return passage in self.known[row["question"]]
        return row["set"] not in _NEVER_ANSWERED


def _lacking(
    raw: dict[str, Any], plain: Row, strangers: Sequence[str], draw: random.Random
) -> Iterator[Row]:
    """From evidence that is enough, evidence that is not."""
    none = replace(plain, label=Label.NOT_MENTIONED)
    answer = raw.get("answer") or ""
    if len(raw["evidence"]) > 1:
        left = draw.sample(raw["evidence"], len(raw["evidence"]) - 1)
        mixed = [*left, *strangers[: draw.randint(0, 2)]]
        yield replace(none, evidence=_shuffled(mixed, draw), origin=f"{plain.origin}+dropped")
    if len(answer) > 2:
        parts = pieces(plain.evidence)
        kept = [part for part in parts if answer.lower() not in part.lower()]
        if 1 < len(kept) < len(parts):
            yield replace(none, evidence="".join(kept), origin=f"{plain.origin}+cut")
        if strangers:
            many = [text[:900] for text in strangers[: draw.choice((1, 3, 6, 10))]]
            yield replace(none, evidence="\n".join(many), origin=f"{plain.origin}+strangers")


def cut(row: Row) -> Row:
    """The row with its evidence cut to what a model reads at once; its points move along."""
    room = ROOM if row.task is Task.SUPPORT else ENOUGH_ROOM
    if len(row.evidence) <= room:
        return row
    parts = pieces(row.evidence)
    near = nearness(
        [word_prefixes(part) for part in parts], word_prefixes(f"{row.question} {row.text}")
    )
    starts = [0, *accumulate(map(len, parts))]
    text, points = "", []
    for n in choose(near, [len(part) for part in parts], room):
        shift = len(text) - starts[n]
        for start, end in row.points:
            start, end = max(start, starts[n]), min(end, starts[n + 1])
            if end - start > 1:
                points.append((start + shift, end + shift))
        text += parts[n]
    return replace(row, evidence=text, points=tuple(points))


def all_rows(data: Path, seed: int) -> list[Row]:
    """The rows of the labelled sets and what is made from them, shuffled."""
    labelled = list(apart(data / "grounding"))
    questions = list(apart(data / "sufficiency"))
    stock = sorted({row["evidence"] for row in labelled if len(row["evidence"]) > 300})
    noise = [part.strip() for text in stock[:4000] for part in pieces(text)[:2]]
    rows = [
        *support_rows(labelled, seed),
        *whole_sentences(labelled),
        *answer_rows(questions),
        *sufficiency_rows(questions, seed),
        *(
            Row(Task.SUPPORT, claim, evidence, Label(label), "records")
            for claim, evidence, label in record_rows(RECORDS, seed, noise)
        ),
    ]
    with Pool() as workers:
        rows = workers.map(cut, rows, chunksize=4000)
    random.Random(seed).shuffle(rows)
    return rows


def read_pairs(path: Path) -> list[Row]:
    """Pairs of the dev files, as pairs.py writes them, to be judged."""
    return [
        Row(Task(pair["task"]), pair["said"], pair["evidence"], Label.UNLABELLED, pair["way"],
            pair["question"])
        for pair in read(path)
    ]  # fmt: skip
