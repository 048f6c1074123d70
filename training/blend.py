"""Fit the blend of the learned gate, and calibrate it.

    python training/blend.py --held held.jsonl.gz --judged FOLDER --data ../shared/data [--limit N]

Fitted on the held rows (held.py), which no verifier was trained on; made a probability, with its
threshold, on dev rows. What the verifiers say of both is read from FOLDER, as for evaluate.py; the
rest is computed as the gate computes it. Writes gate/blend.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrate import TIERS, balanced, logistic, read_judged, threshold
from evaluate import enough_scores, shipped_cards
from suffice.bench.gate import evidence_of
from suffice.bench.judged import Row, choose
from suffice.bench.sufficiency import read_questions
from suffice.gate.blend import Looks, look
from suffice.models.catalog import open_embedder, open_verifier
from suffice.settings import EmbedderSettings, VerifierSettings

OUT = Path(__file__).parent.parent / "src/suffice/gate/blend.json"
Floats = np.ndarray[Any, Any]
RIDGE = 1.0
# What each blend weighs, by what is known.
KNOWN = {
    "similarity": ("verifier", "similarity", "coverage", "count"),
    "no similarity": ("verifier", "coverage", "count"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--held", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--limit", type=int, help="rows of each set")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    held, dev = placed(given.held), placed(given.data / "sufficiency" / "dev.jsonl.gz")
    held, dev = choose(held, given.limit), choose(dev, given.limit)
    embedder = open_embedder(EmbedderSettings())
    seen = [list(evidence_of(rows, embedder, told)) for rows in (held, dev)]
    judged = [read_judged(given.judged, held=True), read_judged(given.judged)]
    made: dict[str, Any] = {"blends": {}, "verifiers": {}}
    for tier in TIERS:
        scores = [enough_scores(one, shipped_cards(), tier) for one in judged]
        there, here = (
            [look(one, float(found[row["place"]])) for one, row in zip(some, rows, strict=True)]
            for some, found, rows in zip(seen, scores, (held, dev), strict=True)
        )
        made["blends"][tier] = {
            known: blend(names, there, held, here, dev) for known, names in KNOWN.items()
        }
        made["verifiers"][tier] = open_verifier(VerifierSettings(), tier).id
        if tier == "fast":
            made["blends"]["no verifier"] = {
                known: blend(names[1:], there, held, here, dev) for known, names in KNOWN.items()
            }
    made["fitted"] = dict(sorted(Counter(row["set"] for row in held).items()))
    made["calibrated"] = dict(sorted(Counter(row["set"] for row in dev).items()))
    given.out.write_text(json.dumps(made, indent=2) + "\n")
    print(f"wrote {given.out}")


def placed(path: Path) -> list[Row]:
    """The rows of a file, each with its place there."""
    return [row | {"place": place} for place, row in enumerate(read_questions(path))]


def told(what: str, done: int, of: int) -> None:
    if done % 256 == 0 or done == of:
        print(f"{what} {done}/{of}", flush=True)


def table(looks: Sequence[Looks], names: Sequence[str]) -> Floats:
    return np.array([[one.values().get(name, 0.0) for name in names] for one in looks])


def blend(
    names: Sequence[str],
    there: Sequence[Looks],
    held: Sequence[Row],
    here: Sequence[Looks],
    dev: Sequence[Row],
) -> dict[str, Any]:
    """The line fitted on held rows, then its slope, shift and threshold on dev rows. Every set
    counts alike; what is made from a set counts with it."""
    family = np.array([row["set"].split("+")[0] for row in held])
    line = logistic(table(there, names), truth(held), balanced(family), RIDGE)
    scores = table(here, names) @ line[:-1] + line[-1]
    sets = np.array([row["set"] for row in dev])
    slope, shift = logistic(scores[:, None], truth(dev), balanced(sets))
    chance = 1 / (1 + np.exp(-(slope * scores + shift)))
    at = threshold(chance, truth(dev).astype(bool), sets)
    weights = {name: round(float(weight), 4) for name, weight in zip(names, line, strict=False)}
    rest = {"offset": line[-1], "slope": slope, "shift": shift, "threshold": at}
    return {"weights": weights, **{name: round(float(value), 4) for name, value in rest.items()}}


def truth(rows: Sequence[Row]) -> Floats:
    return np.array([float(row["sufficient"]) for row in rows])


if __name__ == "__main__":
    main()
