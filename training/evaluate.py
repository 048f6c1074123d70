"""The benches' figures for all dev rows, and those on written cases and real documents.

    python -m training.evaluate --pairs build --fast build/fast --strong build/large

Scored from the folders that train.py wrote on a GPU: the CPU time for all rows is hours. How far
the shipped file stands from the trained weights is measured on a sample and kept beside the
figures. The calibration is that of the shipped cards. Writes docs/results/grounding-TIER.json,
docs/results/sufficiency-TIER.json and docs/results/written-TIER.json for each tier that is named.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from suffice.lab.eval import verifiers
from suffice.lab.eval.run_record import run_record
from suffice.lab.eval.verifiers import AGGREGATION, Bench, Judgement
from suffice.models.catalog import open_verifier
from suffice.settings import VerifierSettings

from .calibrate import NEAR, chance, ece, judged
from .measure import Item, auroc, margin, question_margin
from .rows import read

Floats = np.ndarray[Any, Any]
BENCHES = {"grounding": (verifiers.GROUNDING, "g"), "sufficiency": (verifiers.SUFFICIENCY, "s")}
EVEN = 0.5
BASELINES = {
    "written questions": "written questions, no evidence",
    "written answers": "written answers, no evidence",
    "written statements": "written statements, no evidence",
}


def public(pairs: Path, folder: Path, card: dict[str, Any]) -> dict[str, float]:
    """The score of every public item: of its claims as the bench puts them together, of a question
    as the verifier does."""
    logits = np.load(folder / "public.npy").astype(float)
    lines = card["calibration"]
    claims = chance(margin(logits[:, :3], 0), lines["support"])
    asked = margin(logits[:, 3:], 1)
    own: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for place, pair in enumerate(read(pairs / "public.jsonl.gz")):
        own[pair["item"]].append((place, pair["way"]))
    found = {}
    for item, places in own.items():
        if item.startswith("g"):
            found[item] = AGGREGATION.score([float(claims[place]) for place, _ in places])
        else:
            value = question_margin([(way, float(asked[place])) for place, way in places])
            found[item] = float(chance(np.array([value]), lines["sufficiency"])[0])
    return found


def figures(rows: list[dict[str, Any]], scores: Sequence[float], bench: Bench) -> dict[str, Any]:
    found = bench.figures(
        [
            bench.judged(row, Judgement(score, 1, 0, passed=score >= EVEN))
            for row, score in zip(rows, scores, strict=True)
        ]
    )
    for one in [*found["sets"].values(), found["pooled"]]:
        for each in [one, *one.get("tasks", {}).values()]:
            each["ms_per_row"] = None  # a GPU's time says nothing here
    return found


def written(found: Sequence[Item], lines: dict[str, Any]) -> dict[str, Any]:
    """AUROC of each set beside what is told without evidence; of answers by kind of error, and how
    often the right one stands above the wrong one."""
    sets: dict[str, list[Item]] = defaultdict(list)
    for item in found:
        sets[item.set].append(item)
    made: dict[str, Any] = {}
    for question, names in NEAR.items():
        for name in (*names, *(["statement twins"] if question == "support" else [])):
            own = sets[name]
            truth, scores = _columns(own)
            sure = chance(scores, lines[question])
            row: dict[str, Any] = {
                "n": len(own),
                "auroc": auroc(truth, scores),
                "ece": ece(sure, truth),
            }
            if name in BASELINES:
                row["auroc_without_evidence"] = auroc(*_columns(sets[BASELINES[name]]))
            if share := _told_apart(own):
                row["told_apart"] = float(np.mean(share))
            if name == "written answers":
                row["kinds"] = {
                    kind: auroc(*_columns([i for i in own if i.truth or i.kind == kind]))
                    for kind in sorted({item.kind for item in own if not item.truth})
                }
            made[name] = _rounded(row)
        pooled = [item for name in names for item in sets[name]]
        truth, scores = _columns(pooled)
        made[f"{question}, all"] = _rounded(
            {"n": len(pooled), "ece": ece(chance(scores, lines[question]), truth)}
        )
    return made


def _columns(own: Sequence[Item]) -> tuple[Floats, Floats]:
    return np.array([item.truth for item in own]), np.array([item.margin for item in own])


def _told_apart(own: Sequence[Item]) -> list[bool]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in own:
        if item.group:
            groups[item.group].append(item)
    return [
        right.margin > wrong.margin
        for some in groups.values()
        for right in some
        if right.truth
        for wrong in some
        if not wrong.truth
    ]


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _rounded(value)
        if isinstance(value, dict)
        else round(value, 4)
        if isinstance(value, float)
        else value
        for name, value in row.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--fast", type=Path)
    parser.add_argument("--strong", type=Path)
    parser.add_argument("--out", type=Path, default=Path("docs/results"))
    given = parser.parse_args()
    for tier, folder in (("fast", given.fast), ("strong", given.strong)):
        if not folder:
            continue
        verifier: Any = open_verifier(VerifierSettings(), tier)
        card = verifier.card.raw
        distances = card["measured"]["distance_to_fp32"]
        head = {"tier": tier, "model": verifier.id, "threshold": EVEN}
        head["scored"] = "all dev rows, by the trained weights on a GPU"
        scores = public(given.pairs, folder, card)
        for kind, (bench, letter) in BENCHES.items():
            data = given.data / kind / "dev.jsonl.gz"
            rows = list(read(data))
            found = figures(rows, [scores[f"{letter}{n}"] for n in range(len(rows))], bench)
            more = {"aggregation": AGGREGATION.name} if kind == "grounding" else {}
            parity = {"parity": distances["support" if more else "sufficiency"]}
            write(given.out / f"{kind}-{tier}.json", head | more | found | parity, data)
        near = judged(given.pairs, folder, "near")
        data = given.data / "written" / "dev.jsonl.gz"
        sets = {"sets": written(near, card["calibration"])}
        write(given.out / f"written-{tier}.json", head | sets, data)


def write(path: Path, found: dict[str, Any], data: Path) -> None:
    path.write_text(json.dumps(found | {"run": run_record(data)}, indent=2) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
