"""Measures how well a verifier separates supported answers from unsupported ones.

A response is split into its claims, every claim is judged, and the scores are combined into one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from suffice.eval.judged import Bench, Judgement, Row, choose, passages
from suffice.eval.llm_cost import llm_figures, unbounded
from suffice.eval.rows import NAME, PASSAGES, TEXT, Kind, one_of, or_null, read_rows
from suffice.eval.run_record import run_record
from suffice.evidence.ingest import Progress
from suffice.models.verifier import LLM, Pair, SupportScore, Thresholds, Verifier
from suffice.text.claims import claims

SUPPORTED = "entail"
NOT_SUPPORTED = ("neutral", "contradict", "not_entail", "partial")
_NEEDED = ("set", "evidence", "claim", "label")
_KINDS = {
    "set": NAME,
    "task": or_null(NAME),
    "question": or_null(TEXT),
    "evidence": PASSAGES,
    "claim": TEXT,
    "label": one_of(SUPPORTED, *NOT_SUPPORTED),
}


@dataclass(frozen=True, slots=True)
class Aggregation:
    """One score for a response: the mean probability of support over its `worst` claims."""

    name: str
    worst: int

    def score(self, found: Sequence[float]) -> float:
        return fmean(sorted(found)[: self.worst])


AGGREGATION = Aggregation("mean of the two worst claims", 2)
BENCH = Bench(
    positive=lambda row: bool(row["label"] == SUPPORTED),
    blind=lambda row: -len(row["claim"]),
    blind_figure="length_auroc",
)


def bench_grounding(
    data: Path, verifier: Verifier, limit: int | None, progress: Progress
) -> dict[str, Any]:
    """The figures per set and task on labelled responses; `f1` is for the class "not supported"."""
    rows, verifier = choose(read(data), limit), unbounded(verifier)
    found = BENCH.run(rows, lambda chunk: judged(verifier, chunk), progress)
    return {
        "tier": verifier.tier,
        "model": verifier.id,
        "threshold": verifier.thresholds.support,
        "limit": limit,
        "aggregation": AGGREGATION.name,
        **BENCH.figures(found),
        **llm_figures(verifier, found),
        "run": run_record(data),
    }


def read(data: Path, more: Mapping[str, Kind] | None = None) -> list[dict[str, Any]]:
    """The labelled responses of a file; `more` defines further fields."""
    return read_rows(data, _NEEDED, {**_KINDS, **(more or {})})


def judged(verifier: Verifier, rows: Sequence[Row]) -> list[Judgement]:
    """The responses judged by the verifier alone, all their claims in one call."""
    owned = [(place, pair) for place, row in enumerate(rows) for pair in _pairs(row)]
    scores = verifier.support([pair for _, pair in owned])
    responses: list[list[SupportScore]] = [[] for _ in rows]
    for (place, _), score in zip(owned, scores, strict=True):
        responses[place].append(score)
    return [_response(response, verifier.thresholds) for response in responses]


def _pairs(row: Row) -> list[Pair]:
    """One pair per claim of a response; one pair with the whole text if it has no claims."""
    texts = [one.alone for one in claims(row["claim"]) if one.checkable] or [row["claim"]]
    return [Pair(one, passages(row), row.get("question") or "", row["claim"]) for one in texts]


def _response(scores: Sequence[SupportScore], thresholds: Thresholds) -> Judgement:
    """The judgement of a response. With an unchecked claim it scores 0 and does not pass. Claims
    judged by several tiers are compared with the mean of their thresholds."""
    open_ = sum(1 for score in scores if score.unchecked)
    spoke = sum(score.tier == LLM for score in scores)
    fell_back = sum(bool(score.note) for score in scores)
    if open_:
        return Judgement(0.0, len(scores), open_, False, spoke, fell_back)
    found = AGGREGATION.score([score.supported for score in scores])
    worst = sorted(scores, key=lambda score: score.supported)[: AGGREGATION.worst]
    least = fmean(thresholds.of(score.tier).support for score in worst)
    return Judgement(found, len(scores), 0, found >= least, spoke, fell_back)
