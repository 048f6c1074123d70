"""Figures of trained encoders on the dev pairs.

    python -m training.measure --pairs build --judged FOLDER [FOLDER ...] [--together]

FOLDER holds near.npy and public.npy, as train.py wrote them. With --together the folders are judged
as one: the mean of their logits. AUROC for each set; for answers also by kind of error, and the
share of pairs in which the right one stands above the wrong one.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .rows import read

Floats = np.ndarray[Any, Any]
WORST = 2


@dataclass(frozen=True, slots=True)
class Item:
    """Something judged as one, with its margin."""

    set: str
    truth: bool
    margin: float
    kind: str = ""
    group: str = ""
    item: str = ""


def log_softmax(logits: Floats) -> Floats:
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def margin(logits: Floats, column: int) -> Floats:
    found: Floats = logits[:, column] - np.logaddexp.reduce(
        np.delete(logits, column, axis=1), axis=1
    )
    return found


def items(pairs: Sequence[Mapping[str, Any]], logits: Floats) -> list[Item]:
    """Claims of a response by its two worst, questions by the passages together and the best one
    alone."""
    support, asked = margin(logits[:, :3], 0), margin(logits[:, 3:], 1)
    places: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, pair in enumerate(pairs):
        places[pair["set"], pair["item"]].append(place)
    found = []
    for (name, item), own in places.items():
        first = pairs[own[0]]
        if first["task"] == 0:
            value = float(np.mean(sorted(support[own])[:WORST]))
        else:
            value = question_margin([(pairs[n]["way"], float(asked[n])) for n in own])
        found.append(
            Item(
                name,
                first["truth"],
                value,
                first.get("kind") or "",
                first.get("group") or "",
                item,
            )
        )
    return found


def question_margin(ways: Sequence[tuple[str, float]]) -> float:
    """The mean of the passages together and the best passage alone."""
    together = [value for way, value in ways if way != "alone"]
    alone = [value for way, value in ways if way == "alone"]
    return (max(together) + max(alone)) / 2 if alone else max(together)


def auroc(truth: Floats, scores: Floats) -> float:
    order = np.argsort(scores, kind="stable")
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(1, len(scores) + 1)
    for value in np.unique(scores):
        same = scores == value
        ranks[same] = ranks[same].mean()
    positive = int(truth.sum())
    if not 0 < positive < len(truth):
        return float("nan")
    return float(
        (ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive))
    )


def best_balanced(truth: Floats, scores: Floats) -> float:
    cuts = np.quantile(scores, np.linspace(0.02, 0.98, 97))
    return max(
        float(((scores >= cut)[truth].mean() + (scores < cut)[~truth].mean()) / 2) for cut in cuts
    )


def table(found: Sequence[Item]) -> dict[str, str]:
    sets: dict[str, list[Item]] = defaultdict(list)
    for item in found:
        sets[item.set].append(item)
    made = {}
    for name, own in sets.items():
        truth = np.array([item.truth for item in own])
        scores = np.array([item.margin for item in own])
        made[name] = f"{auroc(truth, scores):.3f} ({best_balanced(truth, scores):.3f})"
        groups: dict[str, list[Item]] = defaultdict(list)
        for item in own:
            if item.group:
                groups[item.group].append(item)
        shares = [
            right.margin > wrong.margin
            for some in groups.values()
            for right in some if right.truth
            for wrong in some if not wrong.truth
        ]  # fmt: skip
        if shares:
            made[f"{name}, told apart"] = f"{np.mean(shares):.3f}"
        if name == "written answers":
            for kind in sorted({item.kind for item in own if not item.truth}):
                some = np.array([item.truth or item.kind == kind for item in own])
                made[f"   {kind}"] = f"{auroc(truth[some], scores[some]):.3f}"
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--judged", type=Path, nargs="+", required=True)
    parser.add_argument("--together", action="store_true")
    given = parser.parse_args()
    columns: list[dict[str, str]] = [{} for _ in given.judged]
    for name in ("near", "public"):
        file = given.pairs / f"{name}.jsonl.gz"
        if not file.exists() or not (given.judged[0] / f"{name}.npy").exists():
            continue
        pairs = list(read(file))
        logits = [np.load(folder / f"{name}.npy").astype(float) for folder in given.judged]
        logits = [np.hstack([log_softmax(one[:, :3]), log_softmax(one[:, 3:])]) for one in logits]
        if given.together:
            logits = [np.mean(logits, axis=0)]
            columns = columns[:1]
        for column, one in zip(columns, logits, strict=True):
            column |= table(items(pairs, one))
    print(f"{'':34}", *(f"{folder.name[:14]:>15}" for folder in given.judged[: len(columns)]))
    for key in columns[0]:
        print(f"{key[:34]:34}", *(f"{column.get(key, ''):>15}" for column in columns))


if __name__ == "__main__":
    main()
