"""Fit the blend of the learned gate, and calibrate it.

    python training/blend.py --held held.jsonl.gz --data ../shared/data [--strong] [--limit N]

Fitted on the held rows (held.py), which no verifier was trained on; made a probability, with its
threshold, on dev rows. What the blend looks at is computed as the gate computes it, by the shipped
models. Without --strong the strong tier's blend is kept as it is. Writes gate/blend.json.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from calibrate import balanced, logistic, threshold
from suffice.bench.gate import evidence_of
from suffice.bench.judged import Row, choose, passages
from suffice.bench.sufficiency import read_questions
from suffice.gate.blend import Looks, look
from suffice.models.catalog import open_embedder, open_verifier
from suffice.models.verifier import Pair, Verifier
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
    parser.add_argument("--strong", action="store_true", help="fit the strong tier's blend too")
    parser.add_argument("--limit", type=int, help="rows of each set")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    held = choose(read_questions(given.held), given.limit)
    dev = choose(read_questions(given.data / "sufficiency" / "dev.jsonl.gz"), given.limit)
    made = json.loads(given.out.read_text()) if given.out.exists() else {"blends": {}}
    for tier in ("fast", "strong") if given.strong else ("fast",):
        verifier = open_verifier(VerifierSettings(), tier)
        there, here = looked(held, verifier), looked(dev, verifier)
        made["blends"][tier] = {
            known: blend(names, there, held, here, dev) for known, names in KNOWN.items()
        }
        made.setdefault("verifiers", {})[tier] = verifier.id
        if tier == "fast":
            made["blends"]["no verifier"] = {
                known: blend(names[1:], there, held, here, dev) for known, names in KNOWN.items()
            }
    made["fitted"] = dict(sorted(Counter(row["set"] for row in held).items()))
    made["calibrated"] = dict(sorted(Counter(row["set"] for row in dev).items()))
    given.out.write_text(json.dumps(made, indent=2) + "\n")
    print(f"wrote {given.out}")


def looked(rows: Sequence[Row], verifier: Verifier) -> list[Looks]:
    """What the gate would look at for every row."""
    found: list[Looks] = []
    embedder = open_embedder(EmbedderSettings())
    for evidence, row in zip(evidence_of(rows, embedder, told), rows, strict=True):
        score = verifier.sufficiency([Pair(row["question"], passages(row))])[0]
        found.append(look(evidence, None if score.unchecked else score.enough))
        if len(found) % 200 == 0:
            told("verifier", len(found), len(rows))
    return found


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
