"""Reads labelled answers: JSON lines with question, evidence, answer and whether it is correct, or
the export of the review queue.

A certificate covers the answers that the rows were sampled from. If the gate selected the rows,
they say nothing about other answers, unless the probability of each selection is known.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.errors import LabelsError
from suffice.lab.eval.cases import EVIDENCE, LABEL
from suffice.lab.eval.rows import OBJECT, TEXT, TRUTH, Kind, or_null, read_rows
from suffice.lab.eval.verifiers import SUPPORTED
from suffice.types import Action

Row = Mapping[str, Any]
_SHARE = Kind(
    "a number from 0 to 1",
    lambda value: (
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    ),
)
_CHANCE = Kind("a number over 0, at most 1", lambda value: _SHARE.holds(value) and value > 0)
_CLAIMS = Kind(
    "a list of objects with “correct”: true or false",
    lambda value: (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and isinstance(one.get("correct"), bool) for one in value)
    ),
)
_FLOOR = Kind(
    "an object with “serve” and “caveat”, as suffice review export writes it",
    lambda value: (
        isinstance(value, dict) and all(OBJECT.holds(value.get(one)) for one in ("serve", "caveat"))
    ),
)
_KINDS = {
    "question": or_null(TEXT), "evidence": EVIDENCE, "answer": TEXT, "draft": TEXT, "claim": TEXT,
    "correct": or_null(TRUTH), "claims": _CLAIMS, "label": LABEL, "probability": or_null(_CHANCE),
    "least_probability": or_null(_CHANCE),
    "scores": or_null(OBJECT), "floor": or_null(_FLOOR), "sufficient": or_null(TRUTH),
    "collection": or_null(TEXT), "kind": or_null(TEXT),
}  # fmt: skip
_SELECTED = ("record", "why")
"""Fields of rows that come from a review queue."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The result of the decision rule for an answer if both thresholds are 0. `action` is `None` if
    the other rules are unknown and assumed to be met."""

    gate: float
    confidence: float
    action: Action | None = None
    found: str = ""
    """The kind of hallucination that the checks found; empty: none."""


@dataclass(frozen=True, slots=True)
class Label:
    """An answer with its evidence and a person's judgement. `correct` is `None` if the answer was
    sampled for review but not judged."""

    digest: str
    correct: bool | None
    question: str = ""
    evidence: tuple[Any, ...] = ()
    answer: str = ""
    probability: float | None = None
    least_probability: float = 1.0
    """The smallest probability of selection that any answer could have had, selected or not."""
    collection: str = "default"
    kind: str = ""
    sufficient: bool | None = None
    scores: Scores | None = None
    floor: Mapping[str, Mapping[str, float | None]] | None = None
    """The thresholds in force when the row was selected, for SERVE (`serve`) and for all released
    answers (`caveat`). Looser thresholds cannot be certified."""


def read_labels(path: Path) -> list[Label]:
    """The labels of a file, each with a digest that does not depend on the judgement."""
    rows = read_rows(path, (), _KINDS)
    _check_selection(rows, path)
    seen: Counter[str] = Counter()
    labels = []
    for number, row in enumerate(rows, 1):
        digest = _digest(row)
        seen[digest] += 1
        name = digest if seen[digest] == 1 else f"{digest}.{seen[digest]}"
        labels.append(_label(row, name, f"{path}, row {number}"))
    return labels


def data_digest(labels: Sequence[Label]) -> str:
    """The sha256 of the rows, their judgements, weights and scores, regardless of order."""
    lines = sorted(
        f"{label.digest} {label.correct} {label.probability} {label.least_probability} "
        f"{label.scores}"
        for label in labels
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _digest(row: Row) -> str:
    """Identifies the answer: a different comment, judgement or group does not make it a new one.
    The scores identify a row only if it has no text."""
    evidence = row.get("evidence")
    found = {
        "record": row.get("record"),
        "question": row.get("question"),
        "evidence": [evidence] if isinstance(evidence, str | dict) else evidence,
        "answer": _answer(row),
    }
    if not found["record"] and not found["answer"]:
        scores = row.get("scores") or {}
        found["scores"] = {name: scores.get(name) for name in ("gate", "confidence")}
    kept = {name: value for name, value in found.items() if value}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _check_selection(rows: Sequence[Row], path: Path) -> None:
    """Refuse rows that the gate selected with unknown probabilities."""
    known = sum(row.get("probability") is not None for row in rows)
    picked = next((n for n, row in enumerate(rows, 1) if _selected(row)), None)
    if picked is not None:
        raise LabelsError(
            f"{path}, row {picked}: the gate or a review queue selected it, but its “probability” "
            "of being selected is missing.",
            remedy="Export the queue with its probabilities: suffice review export --out "
            "labels.jsonl. Or label answers that were drawn at random, served or not.",
        )
    if 0 < known < len(rows):
        raise LabelsError(
            f"{path}: {known} of {len(rows)} rows have a “probability”.",
            remedy="Give every row the probability with which it was selected; 1 if always.",
        )
    _check_least(rows, path)


def _check_least(rows: Sequence[Row], path: Path) -> None:
    """Refuse weights without a bound. The rows cannot show the bound, because answers with the
    smallest probability are the most likely to be missing."""
    for number, row in enumerate(rows, 1):
        own, least = row.get("probability"), row.get("least_probability")
        if own is None and least is None:
            continue
        if own is None or least is None or least > own:
            raise LabelsError(
                f"{path}, row {number}: “probability” is {own}, “least_probability” is {least}.",
                remedy="Export the queue again: suffice review export --out labels.jsonl. In your "
                "own rows, set “least_probability” to the smallest probability with which any "
                "answer was selected.",
            )


def _selected(row: Row) -> bool:
    if row.get("probability") is not None:
        return False
    return any(row.get(name) for name in _SELECTED) or row.get("selected_by") == "gate"


def _answer(row: Row) -> str:
    return next((row[name] for name in ("answer", "draft", "claim") if name in row), "")


def _label(row: Row, digest: str, where: str) -> Label:
    answer = _answer(row)
    scores = _scores(row["scores"], where) if row.get("scores") else None
    if scores is None and not (answer and row.get("question") and "evidence" in row):
        raise LabelsError(
            f"{where} needs “question”, “evidence” and “answer”, or “scores”.",
            remedy='Add the texts, or "scores": {"gate": 0.8, "confidence": 0.9}.',
        )
    evidence = row.get("evidence", ())
    return Label(
        digest=digest,
        correct=_correct(row, where),
        question=row.get("question") or "",
        evidence=tuple(evidence) if isinstance(evidence, list | tuple) else (evidence,),
        answer=answer,
        probability=row.get("probability"),
        least_probability=row.get("least_probability") or 1.0,
        collection=row.get("collection") or "default",
        kind=row.get("kind") or "",
        sufficient=row.get("sufficient"),
        scores=scores,
        floor=row.get("floor"),
    )


def _correct(row: Row, where: str) -> bool | None:
    """Whether the whole answer is supported: all of its claims are, and nobody judged the answer
    itself to be wrong."""
    if "claims" in row:
        whole = row.get("correct") is not False
        return whole and all(claim["correct"] for claim in row["claims"])
    if "label" in row:
        return bool(row["label"] == SUPPORTED)
    if "correct" not in row:
        raise LabelsError(
            f"{where}: the judgement is missing.",
            remedy='Add "correct": true or false, or "claims" with a judgement for each claim.',
        )
    if row["correct"] is None and row.get("probability") is None:
        raise LabelsError(
            f"{where}: “correct” is null.", remedy="Judge the answer, or leave the row out."
        )
    correct: bool | None = row["correct"]
    return correct


def _scores(tree: Row, where: str) -> Scores:
    for name in ("gate", "confidence"):
        if not _SHARE.holds(tree.get(name)):
            raise LabelsError(
                f"{where}: “scores.{name}” is {tree.get(name)!r}.",
                remedy="Write both scores as numbers from 0 to 1.",
            )
    action = tree.get("action")
    if action is not None and action not in Action.__members__:
        raise LabelsError(
            f"{where}: “scores.action” is {action!r}.",
            remedy=f"Use one of {', '.join(Action.__members__)}, or leave it out.",
        )
    known = Action(action) if action else None
    return Scores(float(tree["gate"]), float(tree["confidence"]), known, str(tree.get("found", "")))


def groups_of(labels: Sequence[Label]) -> Iterator[tuple[str, str, list[int]]]:
    """The rows of each collection and of each kind: ("collection", "default", [0, 1, …])."""
    for field in ("collection", "kind"):
        names = [getattr(label, field) for label in labels]
        for name in sorted({one for one in names if one}):
            yield field, name, [n for n, one in enumerate(names) if one == name]
