"""Write the card of the strong tier: which encoders it asks, and how their mean is calibrated.

    python training/strong.py --calibration build/cal-strong.json

Run from the repository root once its members are exported. The weights of the members were chosen
on the dev pairs, as in training/calibrate.py.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from suffice.models.card import read_card
from verifier import GOLDEN_PAIRS, MADE, STRONG, WINDOW

WEIGHTS = {"fast": 2.0, "second": 1.0, "third": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calibration", type=Path, required=True)
    given = parser.parse_args()
    cards = {name: read_card(MADE[name].out) for name in WEIGHTS}
    folder = STRONG / "strong-verifier"
    folder.mkdir(parents=True, exist_ok=True)
    golden = [
        {"said": text, "evidence": evidence, "members": [_golden(c.raw, n) for c in cards.values()]}
        for n, (text, evidence) in enumerate(GOLDEN_PAIRS)
    ]
    card = {
        "name": "strong-verifier",
        "task": "verification",
        "version": "1",
        "files": {},
        "dimension": cards["fast"].dimension,
        "window": WINDOW,
        "beside": cards["fast"].id,
        "members": [MADE[name].name for name in WEIGHTS if name != "fast"],
        "weights": list(WEIGHTS.values()),
        "licence": "Apache-2.0",
        "recipe": "The weighted mean of the members' log-probabilities, then one line in log-odds.",
        "calibration": json.loads(given.calibration.read_text("utf-8")),
        "golden": golden,
    }
    (folder / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n")
    print(f"wrote {folder}")


def _golden(raw: dict[str, list[dict[str, object]]], number: int) -> dict[str, object]:
    row = raw["golden"][number]
    return {head: row[head] for head in ("support", "sufficiency")}


if __name__ == "__main__":
    main()
