"""Figures on the dev files, for choosing between recipes; the product has its own bench."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rows import Label, Row, Task, digest, read, said_of, sentences

Floats = np.ndarray[Any, Any]
Judge = Callable[[Sequence[Row]], Floats]


def support_figures(data: Path, judge: Judge, room: int) -> dict[str, Any]:
    """Per set: a response scores the mean of its two worst sentences."""
    rows = list(read(data / "grounding" / "dev.jsonl.gz"))
    pairs: list[Row] = []
    owners: list[int] = []
    for number, row in enumerate(rows):
        for claim in sentences(row["claim"]) or [row["claim"]]:
            said = said_of({**row, "claim": claim.strip()})
            evidence = digest(row["evidence"], said, room)
            pairs.append(Row(Task.SUPPORT, said, evidence, Label.SUPPORTED, row["set"]))
            owners.append(number)
    found = judge(pairs)
    grouped: dict[int, list[float]] = {}
    for owner, score in zip(owners, found, strict=True):
        grouped.setdefault(owner, []).append(float(score))
    scored = np.array([np.mean(sorted(grouped[n])[:2]) for n in range(len(rows))])
    flagged = np.array([row["label"] != "entail" for row in rows])
    sets = np.array([row["set"] for row in rows])
    tasks = np.array([row.get("task") or "" for row in rows])
    figures = {name: _figures(scored[sets == name], flagged[sets == name]) for name in set(sets)}
    for task in ("qa", "summary", "data2txt"):
        here = (sets == "ragtruth") & (tasks == task)
        figures[f"ragtruth {task}"] = _figures(scored[here], flagged[here])
    return dict(sorted(figures.items()))


def sufficiency_figures(data: Path, judge: Judge, room: int) -> dict[str, Any]:
    """Per set, on passages taken together and, beside it, on the best passage alone."""
    rows = list(read(data / "sufficiency" / "dev.jsonl.gz"))
    whole = judge([_pair(row, row["evidence"], room) for row in rows])
    single = [(n, [p]) for n, row in enumerate(rows) for p in row["evidence"]]
    alone = judge([_pair(rows[n], passages, room) for n, passages in single])
    best = np.zeros(len(rows))
    for (n, _), score in zip(single, alone, strict=True):
        best[n] = max(best[n], score)
    lacking = np.array([not row["sufficient"] for row in rows])
    sets = np.array([row["set"] for row in rows])
    figures = {}
    for name in sorted(set(sets)):
        here = sets == name
        figures[name] = {
            "together": _figures(whole[here], lacking[here]),
            "best": _figures(best[here], lacking[here]),
            "both": _figures((whole[here] + best[here]) / 2, lacking[here]),
        }
    return figures


def _pair(row: dict[str, Any], passages: Sequence[str], room: int) -> Row:
    evidence = digest("\n".join(passages), row["question"], room)
    return Row(Task.SUFFICIENCY, row["question"], evidence, Label.SUPPORTED, row["set"])


def _figures(scores: Floats, flagged: Floats) -> dict[str, float]:
    """AUROC, and the best balanced accuracy and F1 a threshold on this set could give."""
    order = np.argsort(scores, kind="stable")
    bad = flagged[order].astype(float)
    caught = np.cumsum(bad) / max(bad.sum(), 1)
    wrong = np.cumsum(1 - bad) / max((1 - bad).sum(), 1)
    flags = np.arange(1, len(bad) + 1)
    f1 = 2 * np.cumsum(bad) / (flags + bad.sum())
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    good = ~flagged
    area = (ranks[good].sum() - good.sum() * (good.sum() + 1) / 2) / max(
        good.sum() * flagged.sum(), 1
    )
    return {
        "n": len(scores),
        "auroc": round(float(area), 4),
        "balanced_accuracy": round(float(((caught + 1 - wrong) / 2).max()), 4),
        "f1": round(float(f1.max()), 4),
    }
