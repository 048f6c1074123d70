"""Fit the blend of the learned gate, and make it a probability.

    python -m training.blend --pairs build [--fast build/fast] [--strong build/large]

Fitted on held.jsonl.gz, questions that no verifier was trained on; slope and shift come from the
dev questions of near.jsonl.gz. What the verifiers say is read from the folders, calibrated as their
cards say; the rest is computed as the gate computes it. Writes gate/policies/blend.json, where a
tier that is not named stays as it is.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from suffice.gate.policies.learned import Features, features_of
from suffice.lab.eval.gate import evidence_of
from suffice.models.catalog import open_embedder, open_verifier
from suffice.settings import EmbedderSettings, VerifierSettings

from .calibrate import NEAR, balanced, chance, judged, logistic, print_scores
from .measure import Item
from .rows import read

OUT = Path(__file__).parent.parent / "src/suffice/gate/policies/blend.json"
Floats = np.ndarray[Any, Any]
RIDGE = 1.0
MOST = 400
"""Questions of each set."""
# What each blend weighs, by what is known.
KNOWN = {
    "similarity": ("verifier", "similarity", "coverage", "count"),
    "no similarity": ("verifier", "coverage", "count"),
}


@dataclass(frozen=True, slots=True)
class GateCase:
    """A question with what the gate sees of it, but for the verifier."""

    set: str
    item: str
    truth: bool
    features: Features


def gate_cases(pairs: Path, names: Sequence[str], embedder: Any) -> list[GateCase]:
    rows, counts = [], Counter[str]()
    for name in names:
        for pair in read(pairs / f"{name}.jsonl.gz"):
            if "passages" in pair and counts[pair["set"]] < MOST:
                counts[pair["set"]] += 1
                question = {"question": pair["said"], "evidence": pair["passages"]}
                rows.append(pair | question)
    seen = evidence_of(rows, embedder, _progress)
    return [
        GateCase(row["set"], row["item"], row["truth"], features_of(one, 0.5))
        for row, one in zip(rows, seen, strict=True)
    ]


def _progress(what: str, done: int, of: int) -> None:
    if done % 256 == 0 or done == of:
        print(f"{what} {done}/{of}", flush=True)


def with_verifier(
    some: Sequence[GateCase], pairs: Path, names: Sequence[str], folder: Path, card: Any
) -> list[GateCase]:
    """The same questions with the probability that the tier gives them."""
    margins = {
        (item.set, item.item): item.margin for name in names for item in judged(pairs, folder, name)
    }
    found = chance(
        np.array([margins[one.set, one.item] for one in some]), card["calibration"]["sufficiency"]
    )
    return [
        GateCase(one.set, one.item, one.truth, _enough(one.features, float(value)))
        for one, value in zip(some, found, strict=True)
        if np.isfinite(value)
    ]


def _enough(features: Features, value: float) -> Features:
    return Features(value, features.similarity, features.coverage, features.count)


def table(some: Sequence[GateCase], names: Sequence[str]) -> Floats:
    return np.array([[one.features.values().get(name, 0.0) for name in names] for one in some])


def blend(
    names: Sequence[str], there: Sequence[GateCase], here: Sequence[GateCase]
) -> dict[str, Any]:
    """The line fitted on held rows, then its slope and shift on dev rows. The written questions
    count as much as all other sets together."""
    line = logistic(table(there, names), _truth(there), _weights(there), RIDGE)
    scores = table(here, names) @ line[:-1] + line[-1]
    slope, shift = logistic(scores[:, None], _truth(here), _weights(here))
    weights = {name: round(float(weight), 4) for name, weight in zip(names, line, strict=False)}
    rest = {"offset": line[-1], "slope": slope, "shift": shift}
    for name in NEAR["sufficiency"]:
        own = [
            Item(one.set, one.truth, float(score))
            for one, score in zip(here, scores, strict=True)
            if one.set == name
        ]
        print_scores(f"   {name}", own, {"slope": float(slope), "offset": float(shift)})
    return {"weights": weights, **{name: round(float(value), 4) for name, value in rest.items()}}


def _truth(some: Sequence[GateCase]) -> Floats:
    return np.array([float(one.truth) for one in some])


def _weights(some: Sequence[GateCase]) -> Floats:
    families = np.array([one.set.split("+")[0] for one in some])
    near = np.isin(families, NEAR["sufficiency"])
    weights = np.zeros(len(some))
    for half in (near, ~near):
        if half.any():
            weights[half] = balanced(families[half]) / half.sum()
    scaled: Floats = weights * len(some) / weights.sum()
    return scaled


def counts(some: Sequence[GateCase]) -> dict[str, int]:
    return dict(sorted(Counter(one.set for one in some).items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--fast", type=Path)
    parser.add_argument("--strong", type=Path)
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    embedder = open_embedder(EmbedderSettings())
    held, dev = ["held"], ["near"]
    fitted, calibrated = (gate_cases(given.pairs, names, embedder) for names in (held, dev))
    made: dict[str, Any] = json.loads(OUT.read_text("utf-8"))
    for tier, folder in (("fast", given.fast), ("strong", given.strong)):
        if not folder:
            continue
        verifier: Any = open_verifier(VerifierSettings(), tier)
        card = verifier.card.raw
        there = with_verifier(fitted, given.pairs, held, folder, card)
        here = with_verifier(calibrated, given.pairs, dev, folder, card)
        print(tier)
        made["blends"][tier] = {known: blend(names, there, here) for known, names in KNOWN.items()}
        made["verifiers"][tier] = verifier.id
        made["fitted"][tier] = counts(there)
    print("no verifier")
    made["blends"]["no verifier"] = {
        known: blend(names[1:], fitted, calibrated) for known, names in KNOWN.items()
    }
    made["fitted"]["no verifier"] = counts(fitted)
    made["calibrated"] = counts(calibrated)
    given.out.write_text(json.dumps(made, indent=2) + "\n")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
