"""The benches' figures for all dev rows, from what the models gave on a GPU.

    python training/evaluate.py --data ../shared/data --judged FOLDER --out results

For the strong tier, whose CPU time on all rows is days: the shipped adapter agrees with the trained
one (parity is measured on a sample and kept beside the figures). FOLDER is that of calibrate.py.
The calibration, weights and thresholds are those of the shipped cards.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

import numpy as np

from calibrate import (
    KINDS,
    TIERS,
    Answers,
    Judged,
    cascade,
    chance,
    log_softmax,
    read_judged,
)
from rows import read
from suffice.bench import grounding, sufficiency
from suffice.bench.grounding import AGGREGATION
from suffice.bench.judged import Bench, Judgement
from suffice.bench.run_record import run_record
from suffice.models.card import Card, read_card
from suffice.models.catalog import FAST, STRONG, weights
from suffice.models.llama import open_llama
from suffice.models.strong import ANSWERS, WINDOW

Floats = np.ndarray[Any, Any]
SAMPLE = 60


def parity(pairs: list[dict[str, Any]], trained: Floats, adapter: Path) -> dict[str, Any]:
    """How far the shipped file in llama.cpp stands from what the GPU gave, on short pairs."""
    session = open_llama(adapter, ANSWERS, 0, WINDOW)
    short = [n for n, pair in enumerate(pairs) if len(pair["evidence"]) < 600]
    chosen = random.Random(7).sample(short, SAMPLE)
    ours = np.array([session.judge(*prompt(pairs[n]))[0] for n in chosen])
    theirs = log_softmax(trained[chosen])
    apart = np.abs(np.exp(ours) - np.exp(theirs))
    flips = (ours.argmax(1) != theirs.argmax(1)).sum()
    return {
        "pairs": SAMPLE,
        "mean": round(float(apart.mean()), 4),
        "max": round(float(apart.max()), 4),
        "flips": int(flips),
    }


def prompt(pair: dict[str, Any]) -> tuple[str, list[str]]:
    if pair["task"] == 1:
        return f"Evidence: {pair['evidence']}", [f"\nQuestion: {pair['said']}\nEnough:"]
    question = f"\nQuestion: {pair['question']}" if pair["question"] else ""
    return f"Evidence: {pair['evidence']}", [f"{question}\nClaim: {pair['said']}\nSupported:"]


def answer_scores(judged: Judged, cards: dict[str, Card], tier: str) -> Floats:
    near, shared = (Answers.of(judged.pairs, way) for way in ("near", "shared"))
    claims = chance(judged.support(), cards["fast"].raw["calibration"]["support"])
    if tier == "strong":
        raw = cards["strong"].raw
        mixed = judged.both_support(near, shared, raw["weights"]["support"])
        claims = cascade(claims, chance(mixed, raw["calibration"]["support"]))
    return near.scores(claims)


def enough_scores(judged: Judged, cards: dict[str, Card], tier: str) -> Floats:
    first = chance(judged.enough(), cards["fast"].raw["calibration"]["sufficiency"])
    if tier == "fast":
        return first
    raw = cards["strong"].raw
    mixed = judged.both_enough(raw["weights"]["sufficiency"])
    return cascade(first, chance(mixed, raw["calibration"]["sufficiency"]))


def figures(rows: list[dict[str, Any]], scores: Floats, bench: Bench, at: float) -> dict[str, Any]:
    judged = [
        bench.judged(row, Judgement(float(score), 1, 0, passed=bool(score >= at)))
        for row, score in zip(rows, scores, strict=True)
    ]
    found = bench.figures(judged)
    for one in [*found["sets"].values(), found["pooled"]]:
        for each in [one, *one.get("tasks", {}).values()]:
            each["ms_per_row"] = None  # a GPU's time says nothing here
    return found


def shipped_cards() -> dict[str, Card]:
    return {"fast": read_card(weights(FAST)), "strong": read_card(weights(STRONG))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("results"))
    given = parser.parse_args()
    judged = read_judged(given.judged)
    cards = shipped_cards()
    held = parity(judged.pairs, judged.strong, cards["strong"].folder / "adapter.gguf")
    print(f"parity {held}")
    for tier in TIERS:
        for kind in KINDS:
            data = given.data / kind / "dev.jsonl.gz"
            rows = list(read(data))
            question = "support" if kind == "grounding" else "sufficiency"
            at = cards[tier].raw["thresholds"][question]
            found: dict[str, Any] = {
                "tier": tier,
                "model": cards[tier].id,
                "threshold": at,
                "scored": "all dev rows, by the trained weights on a GPU",
            }
            if kind == "grounding":
                scores = answer_scores(judged, cards, tier)
                found["aggregation"] = AGGREGATION.name
            else:
                scores = enough_scores(judged, cards, tier)
            bench = grounding.BENCH if kind == "grounding" else sufficiency.BENCH
            found |= figures(rows, scores, bench, at)
            found |= {"parity": held} if tier == "strong" else {}
            found["run"] = run_record(data)
            path = given.out / f"{kind}-{tier}.json"
            path.write_text(json.dumps(found, indent=2) + "\n")
            print(f"wrote {path}")


if __name__ == "__main__":
    main()
