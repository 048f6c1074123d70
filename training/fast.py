"""Train the fast verifier: one MiniLM-L6 encoder with two heads, support and sufficiency.

    python training/fast.py --base FOLDER --rows rows.pickle --out FOLDER [--teacher teacher.npy]

Needs a GPU, torch and transformers. --base holds the encoder (config.json, model.safetensors,
tokenizer.json). With a teacher, its probabilities are learned beside the labels, and rows without a
label count too. Writes model.safetensors; with --pairs also the logits of a file of pairs. With
--average, nothing is trained: the weights are the mean of those in these folders.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from batches import DEVICE, Pace, Ragged, ahead, batches, support_loss
from prepare import SEED, picked, prepared
from rows import Label, Row, Task, read_pairs
from suffice.models.tokens import segments

WINDOW = 512
TOKENS = 49_152
RATE = 2.5e-4
LABELS_COUNT = 0.4
"""The labels' share beside the teacher."""


KINDS = "embeddings.token_type_embeddings.weight"


class Verifier(nn.Module):
    """The encoder's first token, read by a head a task."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.support = nn.Linear(config.hidden_size, 3)
        self.sufficiency = nn.Linear(config.hidden_size, 2)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = self.encoder(ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        with torch.autocast(DEVICE, enabled=False):
            first = hidden[:, 0].float()
            return self.support(first), self.sufficiency(first)


def encode(tokenizer: Tokenizer, rows: Sequence[Row]) -> tuple[Ragged, Ragged]:
    """What is said first (after its question), then as much evidence as the window takes."""
    asked = [f"{row.question} {row.said}" if row.question else row.said for row in rows]
    said = tokenizer.encode_batch_fast(asked, add_special_tokens=False)
    evidence = tokenizer.encode_batch_fast([row.evidence for row in rows], add_special_tokens=False)
    start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    ids, types = [], []
    for one, other in zip(said, evidence, strict=True):
        first = [start, *one.ids[-(WINDOW // 2) :], end]
        second = [*other.ids[: WINDOW - len(first) - 1], end]
        ids.append(first + second)
        types.append(segments(first, second, matched=True))
    return Ragged.of(ids), Ragged.of(types)


def loss_of(
    support: Tensor, sufficiency: Tensor, task: Tensor, label: Tensor, teacher: Tensor | None
) -> Tensor:
    """Cross entropy with the label where there is one, and with the teacher's probabilities."""
    two = sufficiency.log_softmax(-1)
    enough = torch.where(label == Label.SUPPORTED, -two[:, 1], -two[:, 0])
    hard = torch.where(task == Task.SUPPORT, support_loss(support, label), enough)
    if teacher is None:
        return hard.mean()
    three = teacher.softmax(-1)
    kept = teacher[:, :2].softmax(-1).flip(-1)
    told = torch.where(
        task == Task.SUPPORT,
        -(three * support.log_softmax(-1)).sum(-1),
        -(kept * two).sum(-1),
    )
    return (told + LABELS_COUNT * torch.where(label == Label.UNLABELLED, 0.0, hard)).mean()


def inputs(encoded: tuple[Ragged, Ragged], chosen: Any) -> tuple[Any, Any, Any]:
    ids, types = encoded
    mask = np.arange(ids.padded(chosen).shape[1]) < ids.lengths[chosen][:, None]
    return ids.padded(chosen), types.padded(chosen), mask.astype(np.int64)


def on_gpu(arrays: Sequence[Any]) -> list[Tensor]:
    return [torch.from_numpy(array).to(DEVICE) for array in arrays]


def train(
    model: Verifier,
    encoded: tuple[Ragged, Ragged],
    rows: Sequence[Row],
    teacher: np.ndarray[Any, Any] | None,
    given: argparse.Namespace,
) -> None:
    task = torch.tensor([int(row.task) for row in rows])
    label = torch.tensor([int(row.label) for row in rows])
    told = None if teacher is None else torch.from_numpy(teacher)
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.rate, weight_decay=0.01, fused=True)
    lengths = encoded[0].lengths
    total = sum(1 for _ in batches(lengths, TOKENS, random.Random(0))) * given.epochs
    pace = Pace(total, given.until, warm=100)
    draw = random.Random(given.seed)
    model.train()
    begun = time.time()
    for _ in range(given.epochs):
        for chosen, arrays in ahead(batches(lengths, TOKENS, draw), lambda c: inputs(encoded, c)):
            with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=DEVICE == "cuda"):
                outputs = model(*on_gpu(arrays))
            soft = None if told is None else told[chosen].to(DEVICE)
            loss = loss_of(*outputs, task[chosen].to(DEVICE), label[chosen].to(DEVICE), soft)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            more = pace.next(optimizer, given.rate)
            optimizer.step()
            if pace.step % 100 == 0:
                spent = time.time() - begun
                print(f"{pace.step}/{total} loss {loss.item():.4f} {spent:.0f} s", flush=True)
            if not more:
                return


@torch.inference_mode()
def judge(model: Verifier, encoded: tuple[Ragged, Ragged]) -> np.ndarray[Any, Any]:
    """Five logits a row: three of support, two of sufficiency."""
    model.eval()
    found = np.zeros((len(encoded[0]), 5), np.float32)
    chosen_batches = batches(encoded[0].lengths, 4 * TOKENS, None)
    for chosen, arrays in ahead(chosen_batches, lambda c: inputs(encoded, c)):
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=DEVICE == "cuda"):
            outputs = model(*on_gpu(arrays))
        found[chosen] = torch.cat(outputs, -1).float().cpu().numpy()
    return found


def averaged(model: Verifier, folders: Sequence[Path]) -> None:
    states = [load_file(str(folder / "model.safetensors")) for folder in folders]
    mean = {name: sum(one[name].float() for one in states) / len(states) for name in states[0]}
    model.load_state_dict(mean)


def load(base: Path, seed: int) -> tuple[Verifier, Tokenizer]:
    torch.manual_seed(seed)
    config = BertConfig.from_json_file(str(base / "config.json"))
    config.type_vocab_size = 4
    model = Verifier(config)
    tensors = load_file(str(base / "model.safetensors"))
    kinds = tensors[KINDS]
    tensors[KINDS] = torch.cat([kinds, kinds])  # what is matched starts as what is not
    missing, _ = model.encoder.load_state_dict(
        {name: value.float() for name, value in tensors.items()}, strict=False
    )
    if missing:
        raise SystemExit(f"{base} lacks {missing[:3]}")
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return model.to(DEVICE), tokenizer


def learn(model: Verifier, tokenizer: Tokenizer, given: argparse.Namespace) -> None:
    rows = prepared(given.rows, given.limit)
    places = picked(rows, given.made, given.seed)
    if given.teacher is None:
        places = [n for n in places if rows[n].label is not Label.UNLABELLED]
    kept = [rows[n] for n in places]
    encoded = encode(tokenizer, kept)
    print(f"{len(kept)} rows, {encoded[0].starts[-1] / 1e6:.1f} M tokens", flush=True)
    while given.teacher and not given.teacher.exists():
        time.sleep(0.5)
    teacher = np.load(given.teacher)[places] if given.teacher else None
    train(model, encoded, kept, teacher, given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--teacher", type=Path)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--until", type=float, default=0.0, help="stop at this Unix time")
    parser.add_argument("--limit", type=int, default=0, help="train on this many rows only")
    parser.add_argument("--made", type=float, default=1.0, help="the share of made rows to keep")
    parser.add_argument("--rate", type=float, default=RATE)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--average", type=Path, nargs="+", help="folders of earlier trainings")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    model, tokenizer = load(arguments.base, arguments.seed)
    if arguments.average:
        averaged(model, arguments.average)
    else:
        learn(model, tokenizer, arguments)
    state = {name: value.half().contiguous() for name, value in model.state_dict().items()}
    save_file(state, str(arguments.out / "model.safetensors"))
    if arguments.pairs:
        found = judge(model, encode(tokenizer, read_pairs(arguments.pairs)))
        np.save(arguments.out / "pairs-fast.npy", found)


if __name__ == "__main__":
    main()
