"""Measures how well a verifier separates supported answers, and sufficient evidence, from others.

A response is split into its claims, every claim is judged, and the scores are combined into one.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from suffice.evidence.ingest import Progress
from suffice.lab.eval.figures import (
    accuracy,
    auroc,
    balanced_accuracy,
    calibration_error,
    coverage_at_risk,
    f1_flagged,
    mean_of,
    rounded,
)
from suffice.lab.eval.rows import NAME, PASSAGES, TEXT, TRUTH, Kind, one_of, or_null, read_rows
from suffice.lab.eval.run_record import run_record
from suffice.models.llm.verifier import LlmVerifier
from suffice.models.verifier import LLM, Pair, SufficiencyScore, SupportScore, Thresholds, Verifier
from suffice.text.claims import claims

Row = Mapping[str, Any]
Judge = Callable[[Sequence[Row]], "list[Judgement]"]
RISK = 0.05
_ROWS_A_CALL = 64
_SEED = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result for one row. `checks` counts its checks, `unchecked` those without a result.
    `passed` says whether the score meets the thresholds of the tiers that gave it. `llm` counts the
    checks decided by an LLM, `fell_back` those for which the LLM was asked but the score of the
    cheaper tier was kept."""

    score: float
    checks: int
    unchecked: int
    passed: bool
    llm: int = 0
    fell_back: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged row with its label. `blind` is the score of a baseline that ignores the text."""

    set: str
    task: str
    positive: bool
    blind: float
    seconds: float
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Bench:
    """How a benchmark reads its rows: the label, and a baseline that uses only the length, with
    `blind_figure` as the name of its AUROC. `more` computes further figures of a group of rows."""

    positive: Callable[[Row], bool]
    blind: Callable[[Row], float]
    blind_figure: str
    more: Callable[[Sequence[Judged]], dict[str, Any]] = lambda judged: {}

    def run(self, rows: Sequence[Row], judge: Judge, progress: Progress) -> list[Judged]:
        """Judge every row, one task of a set at a time, so that each is timed separately."""
        done: list[Judged] = []
        progress("rows", 0, len(rows))
        judge(rows[:1])  # the first call loads the model and is not timed
        for members in _groups(rows).values():
            for first in range(0, len(members), _ROWS_A_CALL):
                chunk = members[first : first + _ROWS_A_CALL]
                start = time.perf_counter()
                judgements = judge(chunk)
                seconds = (time.perf_counter() - start) / len(chunk)
                done += map(self.judged, chunk, judgements, repeat(seconds))
                progress("rows", len(done), len(rows))
        return done

    def judged(self, row: Row, judgement: Judgement, seconds: float = 0.0) -> Judged:
        truth, blind = self.positive(row), self.blind(row)
        return Judged(row["set"], row.get("task") or "", truth, blind, seconds, judgement)

    def figures(self, judged: Sequence[Judged]) -> dict[str, Any]:
        """`sets` (with their `tasks`), `pooled` over all rows, `means` over the sets."""
        sets: dict[str, dict[str, Any]] = {}
        for name in dict.fromkeys(row.set for row in judged):
            members = [row for row in judged if row.set == name]
            sets[name] = self._figures(members)
            tasks = {
                task: self._figures([row for row in members if row.task == task])
                for task in dict.fromkeys(row.task for row in members)
                if task
            }
            if tasks:
                sets[name]["tasks"] = tasks
        means = {name: mean_of(sets.values(), name) for name in ("auroc", "balanced_accuracy")}
        return {"sets": sets, "pooled": self._figures(judged), "means": means}

    def _figures(self, judged: Sequence[Judged]) -> dict[str, Any]:
        scores = np.array([row.judgement.score for row in judged], dtype=np.float64)
        blind = np.array([row.blind for row in judged], dtype=np.float64)
        positive = np.array([row.positive for row in judged], dtype=np.bool_)
        passed = np.array([row.judgement.passed for row in judged], dtype=np.bool_)
        shares = {
            "share_positive": float(positive.mean()),
            "auroc": auroc(scores, positive),
            "balanced_accuracy": balanced_accuracy(passed, positive),
            "accuracy": accuracy(passed, positive),
            "f1": f1_flagged(passed, positive),
            "f1_flag_all": f1_flagged(np.zeros_like(passed), positive),
            self.blind_figure: auroc(blind, positive),
            "coverage_at_5_risk": coverage_at_risk(scores, positive, RISK),
            "ece": calibration_error(scores, positive),
        }
        return {
            "n": len(judged),
            **{name: rounded(value) for name, value in shares.items()},
            "checks": sum(row.judgement.checks for row in judged),
            "unchecked": sum(row.judgement.unchecked for row in judged),
            "ms_per_row": round(fmean(row.seconds for row in judged) * 1e3, 2),
            **self.more(judged),
        }


def choose(rows: Sequence[Row], limit: int | None) -> list[Row]:
    """All rows, or `limit` of each set, always the same ones; a larger limit extends the
    selection."""
    if limit is None:
        return list(rows)
    places: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        places.setdefault(row["set"], []).append(place)
    kept: list[int] = []
    for members in places.values():
        random.Random(_SEED).shuffle(members)
        kept += members[:limit]
    return [rows[place] for place in sorted(kept)]


def _groups(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["set"], row.get("task") or ""), []).append(row)
    return groups


def passages(row: Row) -> tuple[str, ...]:
    """The evidence of a row as a list; it may be a single text."""
    evidence = row["evidence"]
    return (evidence,) if isinstance(evidence, str) else tuple(evidence)


def unbounded(verifier: Verifier) -> Verifier:
    """The verifier without budgets per request, because a benchmark puts many rows in one request.
    The time limit for a single row still applies."""
    if not isinstance(verifier, LlmVerifier):
        return verifier
    settings = replace(
        verifier.settings, total_calls=1_000_000, total_tokens=1_000_000_000, total_seconds=86_400.0
    )
    return replace(verifier, settings=settings)


def llm_figures(verifier: Verifier, judged: Sequence[Judged]) -> dict[str, Any]:
    """Calls, tokens and seconds of the LLM, and the shares of rows in which it answered or in which
    the cheaper tier's score was used instead; empty for other tiers."""
    if not isinstance(verifier, LlmVerifier):
        return {}
    cost, rows = verifier.cost, [row.judgement for row in judged]
    return {
        "llm": {
            "calls": cost.calls,
            "tokens": cost.tokens,
            "seconds": round(cost.seconds, 2),
            "spoke": round(sum(row.llm > 0 for row in rows) / len(rows), 4),
            "fell_back": round(sum(row.fell_back > 0 for row in rows) / len(rows), 4),
        }
    }


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
GROUNDING = Bench(
    positive=lambda row: bool(row["label"] == SUPPORTED),
    blind=lambda row: -len(row["claim"]),
    blind_figure="length_auroc",
)


def bench_grounding(
    data: Path, verifier: Verifier, limit: int | None, progress: Progress
) -> dict[str, Any]:
    """The figures per set and task on labelled responses; `f1` is for the class "not supported"."""
    rows, verifier = choose(read(data), limit), unbounded(verifier)
    found = GROUNDING.run(rows, lambda chunk: judged(verifier, chunk), progress)
    return {
        "tier": verifier.tier,
        "model": verifier.id,
        "threshold": verifier.thresholds.support,
        "limit": limit,
        "aggregation": AGGREGATION.name,
        **GROUNDING.figures(found),
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


_SUFFICIENCY_NEEDED = ("set", "question", "evidence", "sufficient")
_SUFFICIENCY_KINDS = {
    "set": NAME,
    "task": or_null(NAME),
    "question": TEXT,
    "evidence": PASSAGES,
    "sufficient": TRUTH,
}
SUFFICIENCY = Bench(
    positive=lambda row: bool(row["sufficient"]),
    blind=lambda row: sum(map(len, passages(row))),
    blind_figure="evidence_length_auroc",
)


def bench_sufficiency(
    data: Path, verifier: Verifier, limit: int | None, progress: Progress
) -> dict[str, Any]:
    """The figures per set on labelled questions; `f1` is for the class "not sufficient"."""
    rows, verifier = choose(read_questions(data), limit), unbounded(verifier)
    judged = SUFFICIENCY.run(rows, lambda chunk: _judged(verifier, chunk), progress)
    return {
        "tier": verifier.tier,
        "model": verifier.id,
        "threshold": verifier.thresholds.sufficiency,
        "limit": limit,
        **SUFFICIENCY.figures(judged),
        **llm_figures(verifier, judged),
        "run": run_record(data),
    }


def read_questions(data: Path) -> list[dict[str, Any]]:
    """The labelled questions of a file, with their passages."""
    return read_rows(data, _SUFFICIENCY_NEEDED, _SUFFICIENCY_KINDS)


def _judged(verifier: Verifier, rows: Sequence[Row]) -> list[Judgement]:
    scores = verifier.sufficiency([Pair(row["question"], passages(row)) for row in rows])
    return [_judgement(score, verifier.thresholds) for score in scores]


def _judgement(score: SufficiencyScore, thresholds: Thresholds) -> Judgement:
    """The judgement of a question. If it was not judged, it scores 0 and does not pass."""
    spoke, fell_back = int(score.tier == LLM), int(bool(score.note))
    if score.unchecked:
        return Judgement(0.0, 1, 1, False, spoke, fell_back)
    return Judgement(score.enough, 1, 0, thresholds.enough(score), spoke, fell_back)
