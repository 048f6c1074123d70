"""Fit the calibration of both tiers and fix their thresholds, on the dev files.

    python training/calibrate.py --data ../shared/data --judged FOLDER --out FOLDER

FOLDER holds pairs.jsonl.gz (pairs.py) and what the models gave for it: pairs-fast.npy (fast.py) and
pairs-strong.npy (strong.py). Writes fast.json and strong.json for the cards. A line in log-odds is
fitted for each tier and question, every set counting alike; the threshold is the one with the best
mean balanced accuracy over the sets. HaluEval is left out: answer length alone tells its labels.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from rows import read

Floats = np.ndarray[Any, Any]
LEFT_OUT = ("halueval_qa",)
STEPS = 400
BAND = (0.1, 0.9)
WEIGHTS = {"support": 0.5, "sufficiency": 0.7}
"""The strong tier's share where both speak."""


def log_softmax(logits: Floats) -> Floats:
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def margin(logs: Floats, column: int) -> Floats:
    return logs[:, column] - np.logaddexp.reduce(np.delete(logs, column, axis=1), axis=1)


def chance(margins: Floats, line: dict[str, float]) -> Floats:
    return 1 / (1 + np.exp(-(line["slope"] * margins + line["offset"])))


def fit(margins: Floats, truth: Floats, weights: Floats) -> dict[str, float]:
    """Logistic regression on one number, by Newton's method from a flat line, whose steps stay
    short of where they would overshoot."""
    line = np.zeros(2)
    inputs = np.stack([margins, np.ones_like(margins)], 1)
    for _ in range(STEPS):
        found = 1 / (1 + np.exp(-np.clip(inputs @ line, -30, 30)))
        gradient = inputs.T @ (weights * (found - truth))
        curve = (inputs * (weights * found * (1 - found))[:, None]).T @ inputs
        step = np.linalg.solve(curve + 1e-9 * np.eye(2), gradient)
        line = line - step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return {"slope": round(float(line[0]), 4), "offset": round(float(line[1]), 4)}


def balanced(sets: Floats) -> Floats:
    """Weights with which every set counts alike."""
    names, places, counts = np.unique(sets, return_inverse=True, return_counts=True)
    return (len(sets) / len(names) / counts)[places]


def threshold(scores: Floats, truth: Floats, sets: Floats) -> float:
    def mean(at: float) -> float:
        found = []
        for name in np.unique(sets):
            here = sets == name
            right = scores[here] >= at
            found.append((right[truth[here]].mean() + (~right[~truth[here]]).mean()) / 2)
        return float(np.mean(found))

    return round(max(np.linspace(0.1, 0.9, 161), key=mean), 3)


class Answers:
    """The claims of each row, by the place of their pair in the file."""

    def __init__(self, pairs: list[dict[str, Any]], way: str) -> None:
        chosen: dict[tuple[int, int], int] = {}
        for place, pair in enumerate(pairs):
            key = (pair["row"], pair["claim"])
            if pair["task"] == 0 and (pair["way"] == way or key not in chosen):
                chosen[key] = place
        self.rows: dict[int, list[int]] = defaultdict(list)
        for (row, _), place in sorted(chosen.items()):
            self.rows[row].append(place)

    def scores(self, found: Floats) -> Floats:
        """As the bench puts claims together: the mean of the two worst."""
        return np.array([np.mean(np.sort(found[self.rows[row]])[:2]) for row in sorted(self.rows)])


def fit_answers(margins: Floats, answers: Answers, truth: Floats, sets: Floats) -> dict[str, float]:
    """The line that makes the answers' scores probabilities. Few numbers, so it is searched for."""
    weights = balanced(sets)
    start = fit(answers.scores(margins), truth, weights)
    best, least = start, np.inf
    for slope in start["slope"] * np.linspace(0.4, 2.0, 17):
        for offset in start["offset"] + np.linspace(-1.0, 3.0, 33):
            line = {"slope": float(slope), "offset": float(offset)}
            found = np.clip(answers.scores(chance(margins, line)), 1e-4, 1 - 1e-4)
            told = np.where(truth, np.log(found), np.log(1 - found))
            loss = -float((weights * told).mean())
            if loss < least:
                best, least = {k: round(v, 4) for k, v in line.items()}, loss
    return best


def cascade(first: Floats, second: Floats) -> Floats:
    """The strong tier's word where the fast one leaves it open."""
    return np.where((first >= BAND[0]) & (first <= BAND[1]), second, first)


def ece(scores: Floats, truth: Floats) -> float:
    order = np.argsort(scores)
    parts = np.array_split(order, 15)
    return float(sum(len(p) * abs(scores[p].mean() - truth[p].mean()) for p in parts) / len(scores))


def report(name: str, scores: Floats, truth: Floats, sets: Floats, at: float) -> None:
    print(f"{name}: threshold {at}, ECE {ece(scores, truth):.3f}")
    for one in np.unique(sets):
        here = sets == one
        right = scores[here] >= at
        good, bad = right[truth[here]].mean(), (~right[~truth[here]]).mean()
        accuracy = (right == truth[here]).mean()
        print(f"   {one:18} balanced {(good + bad) / 2:.3f} accuracy {accuracy:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pairs = list(read(arguments.judged / "pairs.jsonl.gz"))
    fast = np.load(arguments.judged / "pairs-fast.npy").astype(float)
    strong = np.load(arguments.judged / "pairs-strong.npy").astype(float)
    out: dict[str, dict[str, Any]] = {
        tier: {"calibration": {}, "thresholds": {}} for tier in ("fast", "strong")
    }
    grounding = list(read(arguments.data / "grounding" / "dev.jsonl.gz"))
    used = np.array([row["set"] not in LEFT_OUT for row in grounding])
    truth = np.array([row["label"] == "entail" for row in grounding])
    sets = np.array([row["set"] for row in grounding])
    near = Answers([pair for pair in pairs if pair["task"] == 0], "near")
    kept = Answers([], "near")
    kept.rows = defaultdict(list, {row: near.rows[row] for row in np.flatnonzero(used).tolist()})
    rough = margin(log_softmax(fast[:, :3]), 0)
    line = fit_answers(rough, kept, truth[used], sets[used])
    scores = kept.scores(chance(rough, line))
    at = threshold(scores, truth[used], sets[used])
    report("fast support", scores, truth[used], sets[used], at)
    out["fast"]["calibration"]["support"], out["fast"]["thresholds"]["support"] = line, at

    shared = Answers([pair for pair in pairs if pair["task"] == 0], "shared")
    mixed = both_support(fast, strong, near, shared, pairs)
    line_both = fit_answers(mixed, kept, truth[used], sets[used])
    first, second = chance(rough, line), chance(mixed, line_both)
    scores = kept.scores(cascade(first, second))
    at = threshold(scores, truth[used], sets[used])
    report("strong support", scores, truth[used], sets[used], at)
    out["strong"]["calibration"]["support"], out["strong"]["thresholds"]["support"] = line_both, at

    questions = list(read(arguments.data / "sufficiency" / "dev.jsonl.gz"))
    truth = np.array([row["sufficient"] for row in questions])
    sets = np.array([row["set"] for row in questions])
    enough = margin(log_softmax(fast[:, 3:]), 1)
    told = margin(log_softmax(strong[:, :2]), 0)
    best = np.full(len(questions), -np.inf)
    together = np.zeros(len(questions))
    for place, pair in enumerate(pairs):
        if pair["task"] == 1:
            best[pair["row"]] = max(best[pair["row"]], enough[place])
            if pair["way"] == "together":
                together[pair["row"]] = told[place]
    share = WEIGHTS["sufficiency"]
    first = chance(best, fit(best, truth, balanced(sets)))
    for tier, margins in (("fast", best), ("strong", (1 - share) * best + share * together)):
        line = fit(margins, truth, balanced(sets))
        scores = chance(margins, line) if tier == "fast" else cascade(first, chance(margins, line))
        at = threshold(scores, truth, sets)
        report(f"{tier} sufficiency", scores, truth, sets, at)
        out[tier]["calibration"]["sufficiency"] = line
        out[tier]["thresholds"]["sufficiency"] = at
    out["strong"]["weights"] = WEIGHTS
    arguments.out.mkdir(parents=True, exist_ok=True)
    for tier, found in out.items():
        (arguments.out / f"{tier}.json").write_text(json.dumps(found, indent=2) + "\n")


def both_support(
    fast: Floats, strong: Floats, near: Answers, shared: Answers, pairs: list[dict[str, Any]]
) -> Floats:
    """Margins of the two tiers together, at the place of the pair as the fast tier reads it."""
    weight = WEIGHTS["support"]
    mixed = log_softmax(fast[:, :3]) * (1 - weight)
    told = log_softmax(strong)
    for row, places in near.rows.items():
        for place, other in zip(places, shared.rows[row], strict=True):
            mixed[place] = mixed[place] + weight * told[other]
    return margin(mixed, 0)


if __name__ == "__main__":
    main()
