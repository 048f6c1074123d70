"""Make the tiers' margins probabilities: one line in log-odds a question, fitted on dev pairs.

    python -m training.calibrate --pairs build --judged FOLDER --out FILE

FOLDER holds near.npy and public.npy, as train.py wrote them. The line is fitted on the written
cases and the real documents, every set counting alike, since they are nearest to use; the public
sets are only reported. Even odds are the threshold, so none is fitted. The written cases hold two
wrong claims for each right one; --even weighs them as if there were as many right ones.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .measure import Item, auroc, items
from .rows import read

Floats = np.ndarray[Any, Any]
Line = dict[str, float]
STEPS = 400
NEAR = {
    "support": ("written answers", "written statements", "real drafts"),
    "sufficiency": ("written questions", "real questions", "real twins"),
}
PUBLIC = {
    "support": (
        "ragtruth qa", "ragtruth summary", "ragtruth data2txt", "summedits", "wice", "expertqa",
        "factcheckgpt", "lfqa", "halueval_qa",
    ),
    "sufficiency": ("ud_squad", "ud_nq", "ud_musique", "clapnq", "nomiracl_en", "sufficient_facts"),
}  # fmt: skip


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


def balanced(sets: Floats) -> Floats:
    """Weights with which every set counts alike."""
    names, places, counts = np.unique(sets, return_inverse=True, return_counts=True)
    return np.asarray((len(sets) / len(names) / counts)[places])


def judged(pairs: Path, folder: Path, name: str) -> list[Item]:
    """The items of a file of pairs, with the margins of the folder's encoder."""
    logits = np.load(folder / f"{name}.npy").astype(float)
    return items(list(read(pairs / f"{name}.jsonl.gz")), logits)


def line_of(found: Sequence[Item], question: str, even: bool = False) -> Line:
    """Slope and offset over the sets of one question; with `even`, right and wrong items of a set
    count alike."""
    own = [item for item in found if item.set in NEAR[question]]
    margins = np.array([item.margin for item in own])
    truth = np.array([item.truth for item in own], float)
    weights = balanced(np.array([f"{item.set} {item.truth * even}" for item in own]))
    slope, offset = logistic(margins[:, None], truth, weights)
    return {"slope": round(float(slope), 4), "offset": round(float(offset), 4)}


def chance(margins: Floats, line: Line) -> Floats:
    return np.asarray(1 / (1 + np.exp(-(line["slope"] * margins + line["offset"]))))


def ece(scores: Floats, truth: Floats, bins: int = 10) -> float:
    """The expected calibration error over bins of equal count."""
    parts = [part for part in np.array_split(np.argsort(scores), bins) if len(part)]
    return float(sum(len(p) * abs(scores[p].mean() - truth[p].mean()) for p in parts) / len(scores))


def report(found: Sequence[Item], line: Line, question: str) -> None:
    for half in (NEAR[question], PUBLIC[question]):
        own = [item for item in found if item.set in half]
        print_scores(f"{question}: {len(half)} sets", own, line)
        for name in half:
            print_scores(f"   {name}", [item for item in own if item.set == name], line)


def print_scores(name: str, own: Sequence[Item], line: Line) -> None:
    if not own:
        return
    truth = np.array([item.truth for item in own])
    scores = chance(np.array([item.margin for item in own]), line)
    right = scores >= 0.5
    both = (right[truth].mean() + (~right[~truth]).mean()) / 2
    flagged = 2 * (~right & ~truth).sum() / max(1, (~right).sum() + (~truth).sum())
    print(
        f"{name:32} n {len(own):5} AUROC {auroc(truth, scores):.3f} balanced {both:.3f} "
        f"accuracy {(right == truth).mean():.3f} F1 {flagged:.3f} ECE {ece(scores, truth):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--even", action="store_true", help="as many right claims as wrong ones")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    found = [
        item for name in ("near", "public") for item in judged(given.pairs, given.judged, name)
    ]
    lines = {}
    for question in NEAR:
        lines[question] = line_of(found, question, even=given.even)
        report(found, lines[question], question)
    given.out.write_text(json.dumps(lines, indent=2) + "\n")


if __name__ == "__main__":
    main()
