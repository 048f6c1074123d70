"""The answers that all detectors judge: a sample with the shares of the whole file."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from suffice.errors import SourceMissing
from suffice.lab.eval.cases import read_cases
from suffice.lab.eval.verifiers import SUPPORTED, passages, read

RAGTRUTH, WRITTEN = "ragtruth", "written"
PASSAGE_WORDS = 200
_SEED = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A labelled answer with its evidence; `task` as in RAGTruth, empty elsewhere."""

    set: str
    task: str
    question: str
    evidence: tuple[str, ...]
    text: str
    supported: bool

    def row(self) -> dict[str, Any]:
        """The answer as a row of `suffice bench grounding`."""
        label = SUPPORTED if self.supported else "not_entail"
        return {
            "set": self.set, "task": self.task or None, "question": self.question,
            "evidence": list(self.evidence), "claim": self.text, "label": label,
        }  # fmt: skip

    def pieces(self) -> tuple[str, ...]:
        """The evidence in passages of at most `PASSAGE_WORDS` words, as a retriever returns it."""
        blocks = [block.split() for text in self.evidence for block in text.split("\n\n")]
        return tuple(
            " ".join(words[start : start + PASSAGE_WORDS])
            for words in blocks
            for start in range(0, len(words), PASSAGE_WORDS)
        )


def read_ragtruth(data: Path) -> list[Answer]:
    """The RAGTruth rows of a file of `suffice bench grounding`."""
    found = [
        Answer(
            RAGTRUTH,
            row.get("task") or "",
            row.get("question") or "",
            passages(row),
            row["claim"],
            row["label"] == SUPPORTED,
        )
        for row in read(data)
        if row["set"] == RAGTRUTH
    ]
    if not found:
        raise SourceMissing(
            f"{data} has no rows of the set “{RAGTRUTH}”.",
            remedy="Use a file for `suffice bench grounding` that contains RAGTruth.",
        )
    return found


def read_written(data: Path) -> list[Answer]:
    """The right and wrong answers of a file of cases with `passages` and `qa`."""
    return [
        Answer(
            WRITTEN,
            "",
            draft.question,
            tuple(passage["text"] for passage in draft.passages),
            draft.text,
            draft.correct,
        )
        for draft in read_cases(data).drafts
    ]


def sample(answers: Sequence[Answer], limit: int) -> list[Answer]:
    """`limit` answers in which tasks and labels have the shares of the whole, always the same ones,
    in the order of the file."""
    groups: dict[Hashable, list[int]] = {}
    for place, answer in enumerate(answers):
        groups.setdefault((answer.task, answer.supported), []).append(place)
    for members in groups.values():
        random.Random(_SEED).shuffle(members)
    spread = sorted(
        ((rank + 0.5) / len(members), place)
        for members in groups.values()
        for rank, place in enumerate(members)
    )
    return [answers[place] for place in sorted(place for _, place in spread[:limit])]


def mixed(groups: Iterable[Sequence[Answer]], count: int) -> list[Answer]:
    """`count` answers, one of each task and set in turn."""
    turns: dict[tuple[str, str], list[Answer]] = {}
    for answer in (answer for group in groups for answer in group):
        turns.setdefault((answer.set, answer.task), []).append(answer)
    return [one for turn in zip_longest(*turns.values()) for one in turn if one][:count]
