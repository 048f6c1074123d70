"""Judges rows with a verifier and computes the figures: per set, per task, pooled.

choose → judge (in chunks, timed) → figures
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from statistics import fmean
from typing import Any

import numpy as np

from suffice.eval.figures import (
    accuracy,
    auroc,
    balanced_accuracy,
    calibration_error,
    coverage_at_risk,
    f1_flagged,
)
from suffice.evidence.ingest import Progress

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
        means = {name: _mean(sets.values(), name) for name in ("auroc", "balanced_accuracy")}
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
            **{name: None if value is None else round(value, 4) for name, value in shares.items()},
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


def _mean(sets: Iterable[Row], name: str) -> float | None:
    known = [figures[name] for figures in sets if figures[name] is not None]
    return round(fmean(known), 4) if known else None


def passages(row: Row) -> tuple[str, ...]:
    """The evidence of a row as a list; it may be a single text."""
    evidence = row["evidence"]
    return (evidence,) if isinstance(evidence, str) else tuple(evidence)
