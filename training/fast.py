"""Train the fast verifier: one MiniLM-L6 encoder with two heads, support and sufficiency.

    python training/fast.py --base FOLDER --data ../shared/data --out FOLDER [--plain] [--epochs N]

Needs a GPU, torch and transformers. --base holds the encoder (config.json, model.safetensors,
tokenizer.json). Writes the encoder and heads as model.safetensors and figures on the dev files as
figures.json. --plain leaves the made rows out, for comparison.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from figures import sufficiency_figures, support_figures
from rows import ENOUGH_ROOM, Label, Row, Task, all_rows

WINDOW = 512
ROOM = 1500
TOKENS_A_BATCH = 65_536
RATE = 1.5e-4
SEED = 7


class Verifier(nn.Module):
    """The encoder's first token, read by a head a task."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.support = nn.Linear(config.hidden_size, 3)
        self.sufficiency = nn.Linear(config.hidden_size, 2)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.encoder(ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        with torch.autocast("cuda", enabled=False):
            first = hidden[:, 0].float()
            return self.support(first), self.sufficiency(first)


@dataclass(frozen=True, slots=True)
class Encoded:
    ids: list[int]
    types: list[int]
    task: int
    label: int


def encode(tokenizer: Tokenizer, rows: Sequence[Row]) -> list[Encoded]:
    """What is said first, then as much evidence as the window takes."""
    said = tokenizer.encode_batch_fast([row.said for row in rows], add_special_tokens=False)
    evidence = tokenizer.encode_batch_fast([row.evidence for row in rows], add_special_tokens=False)
    start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    encoded = []
    for row, one, other in zip(rows, said, evidence, strict=True):
        first = [start, *one.ids[: WINDOW // 2], end]
        second = [*other.ids[: WINDOW - len(first) - 1], end]
        types = [0] * len(first) + [1] * len(second)
        encoded.append(Encoded(first + second, types, int(row.task), int(row.label)))
    return encoded


def batches(encoded: Sequence[Encoded], draw: random.Random | None) -> Iterator[list[int]]:
    """Neighbours in length together; for training, in a drawn order."""
    order = list(range(len(encoded)))
    if draw:
        draw.shuffle(order)
    chunk = 40_000 if draw else len(order)
    for start in range(0, len(order), max(chunk, 1)):
        part = sorted(order[start : start + chunk], key=lambda i: len(encoded[i].ids))
        made: list[list[int]] = [[]]
        for i in part:
            if (len(made[-1]) + 1) * len(encoded[i].ids) > TOKENS_A_BATCH:
                made.append([])
            made[-1].append(i)
        if draw:
            draw.shuffle(made)
        yield from filter(None, made)


def padded(encoded: Sequence[Encoded]) -> tuple[Tensor, Tensor, Tensor]:
    longest = max(len(row.ids) for row in encoded)
    ids = torch.zeros(len(encoded), longest, dtype=torch.long)
    types, mask = torch.zeros_like(ids), torch.zeros_like(ids)
    for place, row in enumerate(encoded):
        ids[place, : len(row.ids)] = torch.tensor(row.ids)
        types[place, : len(row.ids)] = torch.tensor(row.types)
        mask[place, : len(row.ids)] = 1
    return ids.cuda(), types.cuda(), mask.cuda()


def loss_of(support: Tensor, sufficiency: Tensor, encoded: Sequence[Encoded]) -> Tensor:
    """Cross entropy; "not supported" counts the other two classes together."""
    task = torch.tensor([row.task for row in encoded]).cuda()
    label = torch.tensor([row.label for row in encoded]).cuda()
    three = support.log_softmax(-1)
    neither = three[:, 1:].logsumexp(-1)
    exact = three.gather(1, label.clamp(max=2)[:, None])[:, 0]
    said = torch.where(label == Label.NOT_SUPPORTED, neither, exact)
    two = sufficiency.log_softmax(-1)
    enough = torch.where(label == Label.SUPPORTED, two[:, 1], two[:, 0])
    return -torch.where(task == Task.SUPPORT, said, enough).mean()


def train(model: Verifier, encoded: Sequence[Encoded], epochs: int) -> None:
    draw = random.Random(SEED)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01, fused=True)
    total = sum(1 for _ in batches(encoded, random.Random(0))) * epochs
    warm = total // 20
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.0, (total - step) / (total - warm)))
    )
    model.train()
    begun, step = time.time(), 0
    for _ in range(epochs):
        for chosen in batches(encoded, draw):
            part = [encoded[i] for i in chosen]
            with torch.autocast("cuda", dtype=torch.bfloat16):
                outputs = model(*padded(part))
            loss = loss_of(*outputs, part)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            step += 1
            if step % 200 == 0:
                print(
                    f"{step}/{total} loss {loss.item():.4f} {time.time() - begun:.0f} s", flush=True
                )


@torch.inference_mode()
def scores(model: Verifier, encoded: Sequence[Encoded]) -> np.ndarray[Any, Any]:
    """The probability of "supported", or of "enough", for each row."""
    model.eval()
    found = np.zeros(len(encoded))
    for chosen in batches(encoded, None):
        part = [encoded[i] for i in chosen]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            support, sufficiency = model(*padded(part))
        task = np.array([row.task for row in part])
        said = support.softmax(-1)[:, 0].cpu().numpy()
        enough = sufficiency.softmax(-1)[:, 1].cpu().numpy()
        found[chosen] = np.where(task == Task.SUPPORT, said, enough)
    return found


def load(base: Path) -> tuple[Verifier, Tokenizer]:
    torch.manual_seed(SEED)
    model = Verifier(BertConfig.from_json_file(str(base / "config.json")))
    tensors = load_file(str(base / "model.safetensors"))
    missing, _ = model.encoder.load_state_dict(
        {name: value.float() for name, value in tensors.items()}, strict=False
    )
    if missing:
        raise SystemExit(f"{base} lacks {missing[:3]}")
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return model.cuda(), tokenizer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--limit", type=int, default=0, help="train on this many rows only")
    arguments = parser.parse_args()
    model, tokenizer = load(arguments.base)
    begun = time.time()
    rows = all_rows(arguments.data, ROOM, SEED, made=not arguments.plain)
    rows = rows[: arguments.limit or len(rows)]
    encoded = encode(tokenizer, rows)
    print(f"{len(encoded)} rows in {time.time() - begun:.0f} s", flush=True)
    train(model, encoded, arguments.epochs)

    def judge(pairs: Sequence[Row]) -> np.ndarray[Any, Any]:
        return scores(model, encode(tokenizer, pairs))

    figures = {
        "rows": len(rows),
        "made": not arguments.plain,
        "epochs": arguments.epochs,
        "grounding": support_figures(arguments.data, judge, ROOM),
        "sufficiency": sufficiency_figures(arguments.data, judge, ENOUGH_ROOM),
    }
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "figures.json").write_text(json.dumps(figures, indent=2) + "\n")
    state = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    save_file(state, str(arguments.out / "model.safetensors"))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
