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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rows import read
from suffice.bench.grounding import AGGREGATION

Floats = np.ndarray[Any, Any]
Line = dict[str, float]
TIERS = ("fast", "strong")
KINDS = ("grounding", "sufficiency")
LEFT_OUT = ("halueval_qa",)
STEPS = 400
BAND = (0.25, 0.75)
WEIGHTS = {"support": 0.5, "sufficiency": 0.7}
"""The strong tier's share where both speak."""


@dataclass(frozen=True)
class Settled:
    """What a card says of one question."""

    line: Line
    threshold: float


def log_softmax(logits: Floats) -> Floats:
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def margin(logs: Floats, column: int) -> Floats:
    found: Floats = logs[:, column] - np.logaddexp.reduce(np.delete(logs, column, axis=1), axis=1)
    return found


def chance(margins: Floats, line: Line) -> Floats:
    return 1 / (1 + np.exp(-(line["slope"] * margins + line["offset"])))


def logistic(inputs: Floats, truth: Floats, weights: Floats, ridge: float = 0.0) -> Floats:
    """Logistic regression by Newton's method from a flat line, whose steps stay short of where they
    would overshoot. The last number is the offset."""
    wide = np.column_stack([inputs, np.ones(len(inputs))])
    held = np.diag([ridge] * inputs.shape[1] + [0.0])
    line = np.zeros(wide.shape[1])
    for _ in range(STEPS):
        found = 1 / (1 + np.exp(-np.clip(wide @ line, -30, 30)))
        gradient = wide.T @ (weights * (found - truth)) + held @ line
        curve = (wide * (weights * found * (1 - found))[:, None]).T @ wide + held
        step = np.linalg.solve(curve + 1e-9 * np.eye(len(line)), gradient)
        line = line - step * min(1.0, 0.5 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(line)


def fit(margins: Floats, truth: Floats, weights: Floats) -> Line:
    """A line over one number."""
    slope, offset = logistic(margins[:, None], truth, weights)
    return {"slope": round(float(slope), 4), "offset": round(float(offset), 4)}


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

    best: float = max(np.linspace(0.1, 0.9, 161).tolist(), key=mean)
    return round(best, 3)


@dataclass(frozen=True)
class Judged:
    """The dev pairs and the logits that each tier gave for them."""

    pairs: list[dict[str, Any]]
    fast: Floats
    strong: Floats

    def support(self) -> Floats:
        """The fast tier's margins of "supported"."""
        return margin(log_softmax(self.fast[:, :3]), 0)

    def both_support(self, near: Answers, shared: Answers, share: float) -> Floats:
        """Those of the two tiers together, at the place of the pair as the fast tier reads it;
        `share` is the strong tier's."""
        mixed = log_softmax(self.fast[:, :3]) * (1 - share)
        told = log_softmax(self.strong)
        for row, places in near.rows.items():
            for place, other in zip(places, shared.rows[row], strict=True):
                mixed[place] = mixed[place] + share * told[other]
        return margin(mixed, 0)

    def enough(self) -> Floats:
        """The fast tier's margins of "enough" for each question, of the best way to read it."""
        return best_reading(self.pairs, margin(log_softmax(self.fast[:, 3:]), 1))

    def both_enough(self, share: float) -> Floats:
        """Those of the two tiers together; the strong one reads the passages at once."""
        best, told = self.enough(), margin(log_softmax(self.strong[:, :2]), 0)
        together = np.zeros(len(best))
        for place, pair in enumerate(self.pairs):
            if pair["way"] == "together":
                together[pair["row"]] = told[place]
        return (1 - share) * best + share * together


def judged_pairs(folder: Path, *, held: bool = False) -> dict[int, dict[str, Any]]:
    """The pairs of the dev files, or of the rows held for the gate's blend, by their place."""
    pairs = enumerate(read(folder / "pairs.jsonl.gz"))
    return {place: pair for place, pair in pairs if pair.get("held", False) is held}


def read_judged(folder: Path, *, held: bool = False) -> Judged:
    pairs = judged_pairs(folder, held=held)
    fast, strong = (
        np.load(folder / f"pairs-{tier}.npy").astype(float)[list(pairs)] for tier in TIERS
    )
    return Judged(list(pairs.values()), fast, strong)


def best_reading(pairs: list[dict[str, Any]], margins: Floats) -> Floats:
    """Of each question, the greatest margin among the ways its passages were read."""
    asked = [(pair["row"], place) for place, pair in enumerate(pairs) if pair["task"] == 1]
    best = np.full(1 + max(row for row, _ in asked), -np.inf)
    for row, place in asked:
        best[row] = max(best[row], margins[place])
    return best


@dataclass(frozen=True)
class Answers:
    """The claims of each row, by the place of their pair in the file."""

    rows: dict[int, list[int]]

    @classmethod
    def of(cls, pairs: list[dict[str, Any]], way: str) -> Answers:
        """Each claim as it is read in this way, or in the only one there is."""
        chosen: dict[tuple[int, int], int] = {}
        for place, pair in enumerate(pairs):
            key = (pair["row"], pair["claim"])
            if pair["task"] == 0 and (pair["way"] == way or key not in chosen):
                chosen[key] = place
        rows: dict[int, list[int]] = defaultdict(list)
        for (row, _), place in sorted(chosen.items()):
            rows[row].append(place)
        return cls(dict(rows))  # in order of the rows

    def only(self, kept: Floats) -> Answers:
        """Those of the rows that are kept."""
        return Answers({row: places for row, places in self.rows.items() if kept[row]})

    def scores(self, found: Floats) -> Floats:
        """As the bench puts claims together."""
        claims = (found[places].tolist() for places in self.rows.values())
        return np.array([AGGREGATION.score(scores) for scores in claims])


def fit_answers(margins: Floats, answers: Answers, truth: Floats, sets: Floats) -> Line:
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


def settle(name: str, line: Line, scores: Floats, truth: Floats, sets: Floats) -> Settled:
    """The threshold that goes with a line, reported."""
    at = threshold(scores, truth, sets)
    report(name, scores, truth, sets, at)
    return Settled(line, at)


def settle_support(judged: Judged, rows: list[dict[str, Any]]) -> dict[str, Settled]:
    used = np.array([row["set"] not in LEFT_OUT for row in rows])
    truth = np.array([row["label"] == "entail" for row in rows])[used]
    sets = np.array([row["set"] for row in rows])[used]
    near, shared = (Answers.of(judged.pairs, way) for way in ("near", "shared"))
    kept = near.only(used)
    rough, mixed = judged.support(), judged.both_support(near, shared, WEIGHTS["support"])
    line, both = (fit_answers(margins, kept, truth, sets) for margins in (rough, mixed))
    first = chance(rough, line)
    last = cascade(first, chance(mixed, both))
    return {
        "fast": settle("fast support", line, kept.scores(first), truth, sets),
        "strong": settle("strong support", both, kept.scores(last), truth, sets),
    }


def settle_sufficiency(judged: Judged, rows: list[dict[str, Any]]) -> dict[str, Settled]:
    truth = np.array([row["sufficient"] for row in rows])
    sets = np.array([row["set"] for row in rows])
    rough, mixed = judged.enough(), judged.both_enough(WEIGHTS["sufficiency"])
    line, both = (fit(margins, truth, balanced(sets)) for margins in (rough, mixed))
    first = chance(rough, line)
    last = cascade(first, chance(mixed, both))
    return {
        "fast": settle("fast sufficiency", line, first, truth, sets),
        "strong": settle("strong sufficiency", both, last, truth, sets),
    }


def write_cards(out: Path, settled: dict[str, dict[str, Settled]]) -> None:
    """For each tier what its card says of both questions."""
    out.mkdir(parents=True, exist_ok=True)
    for tier in TIERS:
        card: dict[str, Any] = {
            "calibration": {question: found[tier].line for question, found in settled.items()},
            "thresholds": {question: found[tier].threshold for question, found in settled.items()},
        }
        if tier == "strong":
            card["weights"] = WEIGHTS
        (out / f"{tier}.json").write_text(json.dumps(card, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    judged = read_judged(given.judged)
    dev = {kind: list(read(given.data / kind / "dev.jsonl.gz")) for kind in KINDS}
    settled = {
        "support": settle_support(judged, dev["grounding"]),
        "sufficiency": settle_sufficiency(judged, dev["sufficiency"]),
    }
    write_cards(given.out, settled)


if __name__ == "__main__":
    main()
