"""Measures conflict detection: on pairs of documents, and on evidence with planted misinformation
compared with the same evidence without it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from suffice.evidence.ingest import Progress
from suffice.gate.conflict.answers import answer_kind
from suffice.gate.conflict.detect import Conflicts, Disagreement
from suffice.lab.eval.figures import auroc, rounded
from suffice.lab.eval.rows import TEXT, Kind, read_rows
from suffice.lab.eval.run_record import run_record
from suffice.lab.eval.verifiers import Row, choose
from suffice.types import Evidence, Passage, Retrieved

CORRECT, PLANTED, NOISE = "correct", "misinfo", "noise"
_TYPES = (CORRECT, PLANTED, NOISE)


def _documents(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(one, dict)
        and one.get("type") in _TYPES
        and isinstance(one.get("text"), str)
        and isinstance(one.get("answer"), str)
        for one in value
    )


_KINDS = {
    "set": TEXT,
    "question": TEXT,
    "documents": Kind(
        f"a list of {{text, type, answer}} with a type of {', '.join(_TYPES)}", _documents
    ),
}


class Relation(StrEnum):
    """The relation of two documents, by their labels."""

    PLANTED = "correct and misinforming"
    SAME = "same answer"
    AMBIGUOUS = "both correct, different answers"
    OTHER = "any other"


@dataclass(frozen=True, slots=True)
class Compared:
    """A pair of documents, and whether it was reported as a conflict or as ambiguous."""

    relation: Relation
    asked: str
    score: float
    reported: bool
    ambiguous: bool


def bench_conflict(
    data: Path, conflicts: Conflicts, limit: int | None, progress: Progress
) -> dict[str, Any]:
    """The figures for pairs, questions with planted misinformation, and their clean twins."""
    rows = choose(read_rows(data, tuple(_KINDS), _KINDS), limit)
    compared: list[Compared] = []
    planted: list[bool] = []
    clean: list[bool] = []
    start = time.perf_counter()
    for number, row in enumerate(rows):
        progress("rows", number, len(rows))
        found = _found(conflicts, row, row["documents"])
        compared += found
        if {CORRECT, PLANTED} <= {one["type"] for one in row["documents"]}:
            rest = [one for one in row["documents"] if one["type"] != PLANTED]
            planted.append(_alarm(found))
            clean.append(_alarm(_found(conflicts, row, rest)))
    progress("rows", len(rows), len(rows))
    seconds = time.perf_counter() - start
    settings = conflicts.settings
    return {
        "tier": conflicts.verifier.tier,
        "model": conflicts.verifier.id,
        "threshold": settings.threshold,
        "copies": settings.same_text_overlap,
        "statements": settings.statement_overlap,
        "limit": limit,
        "pairs": {**_figures(compared), "kinds": _by_relation(compared)},
        "asked": {
            kind: _figures([one for one in compared if one.asked == kind])
            for kind in sorted({one.asked for one in compared})
        },
        "planted": _share(planted),
        "clean": _share(clean),
        "evidence": len(rows) + len(planted),
        "ms_per_evidence": round(seconds * 1e3 / (len(rows) + len(planted)), 1),
        "run": run_record(data),
    }


def _found(conflicts: Conflicts, row: Row, documents: Sequence[Row]) -> list[Compared]:
    """All pairs of documents of a row; a pair that was not compared scores 0."""
    by_pair = {
        (one.view.first, one.view.second): one
        for one in conflicts.compare(_evidence(row["question"], documents))
    }
    kind = str(answer_kind(row["question"]))
    return [
        _compared(
            _relation(documents[pair[0]], documents[pair[1]]),
            kind,
            by_pair.get(pair),
            conflicts.settings.threshold,
        )
        for pair in combinations(range(len(documents)), 2)
    ]


def _evidence(question: str, documents: Sequence[Row]) -> Evidence:
    passages = (
        Passage(str(number), one["text"], f"document {number}")
        for number, one in enumerate(documents)
    )
    return Evidence(question, tuple(Retrieved(passage, None) for passage in passages))


def _relation(first: Row, second: Row) -> Relation:
    types = {first["type"], second["type"]}
    same = first["answer"].strip().lower() == second["answer"].strip().lower()
    if NOISE in types:
        return Relation.OTHER
    if types == {CORRECT, PLANTED} and not same:
        return Relation.PLANTED
    if same:
        return Relation.SAME
    return Relation.AMBIGUOUS if types == {CORRECT} else Relation.OTHER


def _compared(
    relation: Relation, kind: str, compared_pair: Disagreement | None, threshold: float
) -> Compared:
    if compared_pair is None:
        return Compared(relation, kind, 0.0, reported=False, ambiguous=False)
    over = compared_pair.score >= threshold
    return Compared(
        relation,
        kind,
        compared_pair.score,
        over and not compared_pair.ambiguous,
        over and compared_pair.ambiguous,
    )


def _alarm(compared: Iterable[Compared]) -> bool:
    return any(one.reported for one in compared)


def _figures(compared: Sequence[Compared]) -> dict[str, Any]:
    """How well misinforming documents are told apart from documents with the same answer."""
    judged = [one for one in compared if one.relation in (Relation.PLANTED, Relation.SAME)]
    positive = np.array([one.relation is Relation.PLANTED for one in judged], dtype=np.bool_)
    scores = np.array([one.score for one in judged], dtype=np.float64)
    reported = np.array([one.reported for one in judged], dtype=np.bool_)
    hits = int((reported & positive).sum())
    return {
        "n": len(judged),
        "positive": int(positive.sum()),
        "auroc": rounded(auroc(scores, positive)),
        "precision": _ratio(hits, int(reported.sum())),
        "recall": _ratio(hits, int(positive.sum())),
    }


def _by_relation(compared: Sequence[Compared]) -> Mapping[str, Any]:
    return dict(_relations(compared))


def _relations(compared: Sequence[Compared]) -> Iterator[tuple[str, Any]]:
    for relation in Relation:
        members = [one for one in compared if one.relation is relation]
        yield (
            str(relation),
            {
                "n": len(members),
                "conflict": _ratio(sum(one.reported for one in members), len(members)),
                "ambiguous": _ratio(sum(one.ambiguous for one in members), len(members)),
            },
        )


def _share(flags: Sequence[bool]) -> dict[str, Any]:
    return {"n": len(flags), "share": _ratio(sum(flags), len(flags))}


def _ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
