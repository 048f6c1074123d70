"""Measures how well a verifier separates passages that answer a question from those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from suffice.eval.judged import Bench, Judgement, Row, choose, passages
from suffice.eval.llm_cost import llm_figures, unbounded
from suffice.eval.rows import NAME, PASSAGES, TEXT, TRUTH, or_null, read_rows
from suffice.eval.run_record import run_record
from suffice.evidence.ingest import Progress
from suffice.models.verifier import LLM, Pair, SufficiencyScore, Thresholds, Verifier

_NEEDED = ("set", "question", "evidence", "sufficient")
_KINDS = {
    "set": NAME,
    "task": or_null(NAME),
    "question": TEXT,
    "evidence": PASSAGES,
    "sufficient": TRUTH,
}
BENCH = Bench(
    positive=lambda row: bool(row["sufficient"]),
    blind=lambda row: sum(map(len, passages(row))),
    blind_figure="evidence_length_auroc",
)


def bench_sufficiency(
    data: Path, verifier: Verifier, limit: int | None, progress: Progress
) -> dict[str, Any]:
    """The figures per set on labelled questions; `f1` is for the class "not sufficient"."""
    rows, verifier = choose(read_questions(data), limit), unbounded(verifier)
    judged = BENCH.run(rows, lambda chunk: _judged(verifier, chunk), progress)
    return {
        "tier": verifier.tier,
        "model": verifier.id,
        "threshold": verifier.thresholds.sufficiency,
        "limit": limit,
        **BENCH.figures(judged),
        **llm_figures(verifier, judged),
        "run": run_record(data),
    }


def read_questions(data: Path) -> list[dict[str, Any]]:
    """The labelled questions of a file, with their passages."""
    return read_rows(data, _NEEDED, _KINDS)


def _judged(verifier: Verifier, rows: Sequence[Row]) -> list[Judgement]:
    scores = verifier.sufficiency([Pair(row["question"], passages(row)) for row in rows])
    return [_judgement(score, verifier.thresholds) for score in scores]


def _judgement(score: SufficiencyScore, thresholds: Thresholds) -> Judgement:
    """The judgement of a question. If it was not judged, it scores 0 and does not pass."""
    spoke, fell_back = int(score.tier == LLM), int(bool(score.note))
    if score.unchecked:
        return Judgement(0.0, 1, 1, False, spoke, fell_back)
    return Judgement(score.enough, 1, 0, thresholds.enough(score), spoke, fell_back)
