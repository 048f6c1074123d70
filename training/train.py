"""Train one encoder with its heads: support, sufficiency, and tokens that answer or are wrong.

    python -m training.train --base build/bases/msmarco --rows labelled.npz … --out FOLDER

Needs a GPU and torch. With --teachers, logits of an ensemble are learned beside the
labels, and rows without a label count too. Writes weights.npz (int8 codes with their scales, as the
export stores them); with --pairs also the logits of a file of pairs. With --average, training
starts from the mean of the weights in these folders.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .bases import read_base
from .batches import DEVICE, Pace, ahead, batches, filled, support_loss
from .bert import Bert, Masters
from .codes import read_codes, write_codes
from .encoded import Encoded, load_tokenizer
from .rows import Label, Task, read_pairs

JUDGED_TOKENS = 32_768 if DEVICE == "cuda" else 4096
LABELS_COUNT = 0.5
"""The labels' share beside the teacher."""
POINTS_COUNT = 0.3
"""The token heads' share beside the decisions."""
WRITTEN_COUNT = (1.5, 0.75)
"""What a written claim and a written question count: claims are harder to learn."""
HALF = torch.bfloat16 if DEVICE == "cuda" else torch.float32


class Encoder(nn.Module):
    """The first token, read by a head a task, and the tokens of the last layer but one, read by a
    head that marks evidence that answers (0) and words that are wrong (1)."""

    def __init__(self, config: dict[str, Any], dropout: float) -> None:
        super().__init__()
        hidden = config["hidden_size"]
        self.encoder = Bert(config, dropout)
        self.support = nn.Linear(hidden, 3)
        self.sufficiency = nn.Linear(hidden, 2)
        self.tokens = nn.Linear(hidden, 2)

    def forward(
        self, ids: Tensor, types: Tensor, places: Tensor, bounds: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        every, last = self.encoder(ids, types, places, bounds)
        first = last[bounds[:-1].clamp(max=len(ids) - 1)]
        found = (self.support(first), self.sufficiency(first), self.tokens(every))
        return tuple(one.float() for one in found)


def loss_of(outputs: Sequence[Tensor], batch: dict[str, Tensor]) -> Tensor:
    """Cross entropy with the label where there is one, with the teacher's probabilities where there
    is a teacher, and with the marks of the tokens where they are known."""
    support, sufficiency, tokens = outputs
    label, of_support = batch["label"], batch["task"] == Task.SUPPORT
    two = sufficiency.log_softmax(-1)
    enough = torch.where(label == Label.SUPPORTED, -two[:, 1], -two[:, 0])
    hard = torch.where(of_support, support_loss(support, label), enough)
    weight = batch["weight"]
    if "teacher" in batch:
        three, kept = batch["teacher"][:, :3].softmax(-1), batch["teacher"][:, 3:].softmax(-1)
        from_teacher = torch.where(
            of_support, -(three * support.log_softmax(-1)).sum(-1), -(kept * two).sum(-1)
        )
        known = torch.where(label == Label.UNLABELLED, 0.0, hard)
        hard = from_teacher + LABELS_COUNT * known
    logits = torch.where(batch["types"] == 0, tokens[:, 1], tokens[:, 0])
    known = (batch["marks"] >= 0).float()
    each = nn.functional.binary_cross_entropy_with_logits(
        logits, batch["marks"].clamp(min=0).float(), reduction="none"
    )
    none, owner = torch.zeros_like(weight), batch["owner"]
    counted = none.index_add(0, owner, known).clamp(min=1)
    marked = none.index_add(0, owner, each * known) / counted
    return ((hard + POINTS_COUNT * marked) * weight).sum() / weight.sum()


def train(model: Encoder, rows: Encoded, teacher: Tensor | None, given: argparse.Namespace) -> None:
    written = np.where(rows.task == Task.SUPPORT, *WRITTEN_COUNT)
    weight = np.where(rows.written, written, 1.0).astype(np.float32)
    targets = {
        "task": torch.from_numpy(rows.task.astype(np.int64)),
        "label": torch.from_numpy(rows.label.astype(np.int64)),
        "weight": torch.from_numpy(weight),
    }
    targets |= {} if teacher is None else {"teacher": teacher}
    masters = Masters(model, HALF)
    optimizer = torch.optim.AdamW(
        masters.exact, lr=given.rate, weight_decay=0.01, fused=DEVICE == "cuda"
    )
    total = sum(1 for _ in batches(rows.lengths, given.tokens, random.Random(0))) * given.epochs
    total = min(total, given.steps or total)
    pace = Pace(total, given.until, warm=100)
    draw = random.Random(given.seed)
    model.train()
    loss_at = torch.compile(step_loss, dynamic=False) if DEVICE == "cuda" else step_loss
    begun, more = time.time(), True
    chosen_batches = (
        chosen for _ in range(given.epochs) for chosen in batches(rows.lengths, given.tokens, draw)
    )
    made = ahead(chosen_batches, lambda chosen: filled(rows.inputs(chosen), given.tokens))
    for chosen, arrays in made:
        tokens = on_gpu(arrays)
        batch_targets = {
            name: _slots(value[chosen], len(tokens[-1]) - 1) for name, value in targets.items()
        }
        ids, types, marks, places, bounds = tokens
        loss = loss_at(model, ids, types, marks, places, bounds, batch_targets)
        loss.backward()
        masters.take_gradients()
        more = pace.next(optimizer, given.rate)
        optimizer.step()
        masters.give_weights()
        if pace.step % 500 == 0:
            spent = time.time() - begun
            print(f"{pace.step}/{total} loss {loss.item():.4f} {spent:.0f} s", flush=True)
        if not more:
            break
    print(f"{pace.step}/{total} steps in {time.time() - begun:.0f} s", flush=True)
    masters.load(model)


def _slots(values: Tensor, count: int) -> Tensor:
    """The values of a batch's rows, with zeros for the empty ones."""
    whole = values.new_zeros((count, *values.shape[1:]))
    whole[: len(values)] = values
    return whole.to(DEVICE, non_blocking=True)


def step_loss(
    model: Encoder, ids: Tensor, types: Tensor, marks: Tensor, places: Tensor, bounds: Tensor,
    targets: dict[str, Tensor],
) -> Tensor:  # fmt: skip
    outputs = model(ids, types, places, bounds)
    owner = torch.repeat_interleave(bounds.diff(), output_size=len(ids))
    return loss_of(outputs, targets | {"types": types, "marks": marks, "owner": owner})


def on_gpu(arrays: Sequence[Any]) -> list[Tensor]:
    return [torch.from_numpy(one).to(DEVICE, non_blocking=True) for one in arrays]


def judge(model: Encoder, encoded: Encoded) -> np.ndarray[Any, Any]:
    """Five logits a row: three of support, two of sufficiency. Gradients stay on, since without
    them torch 2.11 cannot compile the attention of MPNet."""
    half = copy.deepcopy(model).to(HALF).eval()
    found = np.zeros((len(encoded), 5), np.float32)
    forward = torch.compile(half, dynamic=False) if DEVICE == "cuda" else half
    chosen_batches = batches(encoded.lengths, JUDGED_TOKENS, None)
    made = ahead(chosen_batches, lambda chosen: filled(encoded.inputs(chosen), JUDGED_TOKENS))
    for chosen, arrays in made:
        ids, types, _, places, bounds = on_gpu(arrays)
        support, sufficiency, _ = forward(ids, types, places, bounds)
        both = torch.cat([support, sufficiency], -1)[: len(chosen)]
        found[chosen] = both.detach().float().cpu().numpy()
    return found


def load(base: Path, seed: int, dropout: float) -> Encoder:
    torch.manual_seed(seed)
    model = Encoder(json.loads((base / "config.json").read_text("utf-8")), dropout)
    tensors = {name: torch.from_numpy(value) for name, value in read_base(base).items()}
    model.encoder.load_state_dict(tensors)
    model.to(DEVICE)
    return model


def state_of(model: Encoder) -> dict[str, Any]:
    named = {name: value.float().cpu().numpy() for name, value in model.state_dict().items()}
    return {name.removeprefix("encoder."): value for name, value in named.items()}


def averaged(model: Encoder, folders: Sequence[Path]) -> None:
    states = [_state(folder) for folder in folders]
    names = {name.removeprefix("encoder."): name for name in model.state_dict()}
    mean = {
        whole: torch.from_numpy(np.mean([state[short] for state in states], axis=0))
        for short, whole in names.items()
        if short in states[0]
    }
    model.load_state_dict(mean, strict=False)


def _state(folder: Path) -> dict[str, Any]:
    exact = folder / "exact.npz"
    return dict(np.load(exact)) if exact.exists() else dict(read_codes(folder / "weights.npz"))


def taught(files: Sequence[Path], folders: Sequence[Path]) -> Tensor:
    """The mean of what the teachers' folders say of the rows."""
    scores = []
    for folder in folders:
        parts = [np.load(folder / f"{path.stem}-logits.npy") for path in files]
        logits = torch.from_numpy(np.concatenate(parts)).float()
        scores.append(torch.cat([logits[:, :3].log_softmax(-1), logits[:, 3:].log_softmax(-1)], -1))
    return torch.stack(scores).mean(0)


def learn(model: Encoder, given: argparse.Namespace) -> None:
    rows = Encoded.load(given.rows)
    teacher = taught(given.rows, given.teachers) if given.teachers else None
    if teacher is None and (rows.label == Label.UNLABELLED).any():
        raise SystemExit("Some rows have no label. Name --teachers, or other rows.")
    counts = {path.stem: len(np.load(path)["parts"]) for path in given.rows}
    (given.out / "trained.json").write_text(json.dumps(counts, indent=2) + "\n")
    print(f"{len(rows)} rows, {rows.starts[-1] / 1e6:.1f} M tokens", flush=True)
    train(model, rows, teacher, given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--rows", type=Path, nargs="+", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--teachers", type=Path, nargs="*", default=[], help="folders with --label")
    parser.add_argument("--pairs", type=Path, nargs="*", default=[], help="files to judge")
    parser.add_argument("--label", type=Path, nargs="*", default=[], help="rows to judge")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=0, help="at most so many")
    parser.add_argument("--until", type=float, default=0.0, help="stop at this Unix time")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--tokens", type=int, default=32_768, help="of a batch")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--average", type=Path, nargs="*", default=[], help="earlier trainings")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    model = load(given.base, given.seed, given.dropout)
    if given.average:
        averaged(model, given.average)
    if given.rows:
        learn(model, given)
    state = state_of(model)
    write_codes(given.out / "weights.npz", state)
    np.savez(given.out / "exact.npz", **state)
    tokenizer = load_tokenizer(given.base)
    for path in given.pairs:
        found = judge(model, Encoded.of(tokenizer, read_pairs(path)))
        np.save(given.out / f"{path.name.split('.')[0]}.npy", found)
    for path in given.label:
        found = judge(model, Encoded.load([path]))
        np.save(given.out / f"{path.stem}-logits.npy", found.astype(np.float16))
    print(f"wrote {given.out}", flush=True)


if __name__ == "__main__":
    main()
