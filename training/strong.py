"""Train the strong verifier: an adapter for SmolLM2-135M that answers with one of three tokens.

    python training/strong.py --base FILE.gguf --rows rows.pickle --out FOLDER [--epochs N]

Needs a GPU, torch and the pure-Python gguf package. Evidence stands first, so that one reading of
it serves many claims. Writes adapter.gguf; with --label also the logits it gives to every row
(teacher.npy, for the fast tier to learn from), and with --pairs those of a file of pairs. With
--average, nothing is trained: the adapters of those folders become one, the mean of what they add.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader
from tokenizers import Tokenizer
from torch import Tensor

from batches import DEVICE, Pace, Ragged, ahead, batches, support_loss
from prepare import SEED, picked, prepared
from rows import Label, Row, Task, read_pairs
from smollm import SmolLM, averaged, tokenizer_of, write_adapter

RANK = 32
RATE = 6e-4
TOKENS = 65_536
WINDOW = 768
ANSWERS = (" yes", " unknown", " no")
"""Supported (or enough), not mentioned (or not enough), contradicted."""


def prompt(row: Row) -> tuple[str, str]:
    """What is read once, and what is asked of it."""
    if row.task is Task.SUFFICIENCY:
        return f"Evidence: {row.evidence}", f"\nQuestion: {row.said}\nEnough:"
    question = f"\nQuestion: {row.question}" if row.question else ""
    return f"Evidence: {row.evidence}", f"{question}\nClaim: {row.said}\nSupported:"


def encode(tokenizer: Tokenizer, rows: Sequence[Row]) -> Ragged:
    read, asked = zip(*map(prompt, rows), strict=True)
    first = tokenizer.encode_batch_fast(list(read), add_special_tokens=False)
    second = tokenizer.encode_batch_fast(list(asked), add_special_tokens=False)
    return Ragged.of(
        [
            [*one.ids[: WINDOW - min(len(other.ids), WINDOW // 2)], *other.ids[-WINDOW // 2 :]]
            for one, other in zip(first, second, strict=True)
        ]
    )


def loss_of(logits: Tensor, task: Tensor, label: Tensor) -> Tensor:
    two = logits[:, :2].log_softmax(-1)
    enough = -two.gather(1, label.clamp(max=1)[:, None])[:, 0]
    return torch.where(task == Task.SUPPORT, support_loss(logits, label), enough).mean()


def train(
    model: SmolLM,
    encoded: Ragged,
    rows: Sequence[Row],
    answers: Tensor,
    given: argparse.Namespace,
) -> int:
    task = torch.tensor([int(row.task) for row in rows])
    label = torch.tensor([int(row.label) for row in rows])
    held = [value for value in model.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(
        held, lr=given.rate, weight_decay=0.0, betas=(0.9, 0.98), fused=True
    )
    total = sum(1 for _ in batches(encoded.lengths, TOKENS, random.Random(0))) * given.epochs
    pace = Pace(total, given.until)
    draw = random.Random(given.seed)
    last = torch.from_numpy(encoded.lengths - 1)
    begun = time.time()
    seen: list[float] = []
    for _ in range(given.epochs):
        for chosen, ids in ahead(batches(encoded.lengths, TOKENS, draw), encoded.padded):
            logits = model(torch.from_numpy(ids).to(DEVICE), last[chosen].to(DEVICE), answers)
            loss = loss_of(logits, task[chosen].to(DEVICE), label[chosen].to(DEVICE))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(held, 1.0)
            more = pace.next(optimizer, given.rate)
            optimizer.step()
            if pace.step % 10 == 0:
                seen.append(loss.item())
            if pace.step % 100 == 0:
                spent = time.time() - begun
                mean = np.mean(seen[-10:])
                print(f"{pace.step}/{total} loss {mean:.4f} {spent:.0f} s", flush=True)
            if not more:
                return pace.step
    return pace.step


@torch.inference_mode()
def judge(model: SmolLM, encoded: Ragged, answers: Tensor) -> np.ndarray[Any, Any]:
    found = np.zeros((len(encoded), len(answers)), np.float32)
    last = torch.from_numpy(encoded.lengths - 1)
    for chosen, ids in ahead(batches(encoded.lengths, 2 * TOKENS, None), encoded.padded):
        logits = model(torch.from_numpy(ids).to(DEVICE), last[chosen].to(DEVICE), answers)
        found[chosen] = logits.cpu().numpy()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--label", action="store_true")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--until", type=float, default=0.0, help="stop at this Unix time")
    parser.add_argument("--limit", type=int, default=0, help="train on this many rows only")
    parser.add_argument("--made", type=float, default=1.0, help="the share of made rows to keep")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--rank", type=int, default=RANK)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--average", type=Path, nargs="+", help="folders of earlier trainings")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(arguments.seed)
    reader = GGUFReader(str(arguments.base))
    tokenizer = tokenizer_of(reader)
    model = SmolLM(
        reader, arguments.rank, torch.bfloat16 if DEVICE == "cuda" else torch.float32
    ).to(DEVICE)
    answers = torch.tensor([tokenizer.encode(answer).ids[0] for answer in ANSWERS]).to(DEVICE)
    rows = prepared(arguments.rows, arguments.limit)
    if DEVICE == "cuda":
        for block in model.blocks:
            block.compile(dynamic=True)
    facts: dict[str, Any] = {"rank": arguments.rank}
    if arguments.average:
        averaged(model, [folder / "adapter.gguf" for folder in arguments.average])
        facts["average of"] = [
            json.loads((folder / "trained.json").read_text()) for folder in arguments.average
        ]
    else:
        kept = [rows[n] for n in picked(rows, arguments.made, arguments.seed)]
        labelled = [row for row in kept if row.label is not Label.UNLABELLED]
        encoded = encode(tokenizer, labelled)
        print(f"{len(labelled)} rows, {encoded.starts[-1] / 1e6:.1f} M tokens", flush=True)
        steps = train(model, encoded, labelled, answers, arguments)
        facts |= {"rows": len(labelled), "tokens": int(encoded.starts[-1]), "steps": steps}
        facts |= {"made": arguments.made, "rate": arguments.rate, "seed": arguments.seed}
    write_adapter(model, arguments.out / "adapter.gguf")
    (arguments.out / "trained.json").write_text(json.dumps(facts))
    if arguments.pairs:
        pairs = read_pairs(arguments.pairs)
        np.save(arguments.out / "pairs-strong.npy", judge(model, encode(tokenizer, pairs), answers))
        print("pairs judged", flush=True)
    if arguments.label:
        model.merge()
        found = judge(model, encode(tokenizer, rows), answers)
        np.save(arguments.out / "partial.npy", found)
        (arguments.out / "partial.npy").rename(arguments.out / "teacher.npy")
        print("rows labelled", flush=True)


if __name__ == "__main__":
    main()
