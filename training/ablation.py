"""Compare recipes: figures of several trainings on the dev pairs, for the table in the docs.

    python training/ablation.py --data ../shared/data NAME=FOLDER:TIER … --out results/ablation.json

FOLDER holds pairs.jsonl.gz and pairs-fast.npy or pairs-strong.npy; TIER is fast, strong or both. A
row of the same name replaces the one that is there; each has the record of its own run. AUROC, and
balanced accuracy at each set's best threshold, so that a recipe is not judged by another one's
threshold; the benches use one.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from calibrate import (
    KINDS,
    TIERS,
    WEIGHTS,
    Answers,
    best_reading,
    judged_pairs,
    log_softmax,
    margin,
)
from rows import read
from suffice.bench.figures import auroc, balanced_accuracy
from suffice.bench.run_record import run_record

Floats = np.ndarray[Any, Any]
STEPS = 99


def margins(folder: Path, tier: str) -> tuple[Floats, Floats]:
    """Log-odds of "supported" and of "enough" for each pair."""
    if tier == "both":
        fast, strong = margins(folder, "fast"), margins(folder, "strong")
        shares = (WEIGHTS["support"], WEIGHTS["sufficiency"])
        mixed = [
            (1 - w) * one + w * other for w, one, other in zip(shares, fast, strong, strict=True)
        ]
        return mixed[0], mixed[1]
    logits = np.load(folder / f"pairs-{tier}.npy").astype(float)
    if tier == "fast":
        return margin(log_softmax(logits[:, :3]), 0), margin(log_softmax(logits[:, 3:]), 1)
    return margin(log_softmax(logits), 0), margin(log_softmax(logits[:, :2]), 0)


def figures(scores: Floats, truth: Floats) -> dict[str, Any]:
    cuts = np.quantile(scores, np.linspace(0.01, 0.99, STEPS))
    best = max(balanced_accuracy(scores >= cut, truth) or 0.0 for cut in cuts)
    return {
        "n": len(scores),
        "auroc": round(float(auroc(scores, truth) or 0.0), 4),
        "balanced_accuracy": round(float(best), 4),
    }


def variant(data: Path, folder: Path, tier: str) -> dict[str, Any]:
    pairs = list(judged_pairs(folder).values())
    support, enough = margins(folder, tier)
    grounding = list(read(data / "grounding" / "dev.jsonl.gz"))
    scores = Answers.of(pairs, "near").scores(support)
    truth = np.array([row["label"] == "entail" for row in grounding])
    keys = [(row["set"], row.get("task") or "") for row in grounding]
    found: dict[str, Any] = {"grounding": {}, "sufficiency": {}}
    for name in sorted({key[0] for key in keys} | {" ".join(key) for key in keys if key[1]}):
        here = np.array([name in (key[0], " ".join(key)) for key in keys])
        found["grounding"][name] = figures(scores[here], truth[here])
    questions = list(read(data / "sufficiency" / "dev.jsonl.gz"))
    best = best_reading(pairs, enough)
    truth = np.array([row["sufficient"] for row in questions])
    sets = np.array([row["set"] for row in questions])
    for name in np.unique(sets):
        here = sets == name
        found["sufficiency"][str(name)] = figures(best[here], truth[here])
    return found


def record_of(data: Path, folder: Path, tier: str) -> dict[str, Any]:
    """What a row was measured with: the dev files, the pairs, and what the tiers gave for them."""
    tiers = TIERS if tier == "both" else (tier,)
    judged = [folder / "pairs.jsonl.gz", *(folder / f"pairs-{one}.npy" for one in tiers)]
    return run_record(*(data / kind / "dev.jsonl.gz" for kind in KINDS), *judged)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("results/ablation.json"))
    parser.add_argument("variants", nargs="+", metavar="NAME=FOLDER:TIER")
    given = parser.parse_args()
    table: dict[str, Any] = {"rows": []}
    if given.out.exists():
        table = json.loads(given.out.read_text())
    rows = {row["name"]: row for row in table["rows"]}
    for one in given.variants:
        name, _, place = one.partition("=")
        folder, _, tier = place.rpartition(":")
        figured = variant(given.data, Path(folder), tier)
        record = record_of(given.data, Path(folder), tier)
        rows[name] = {"name": name, "figures": figured, "run": record}
    given.out.write_text(json.dumps({"rows": list(rows.values())}, indent=2) + "\n")


if __name__ == "__main__":
    main()
