"""Train one encoder with its heads: support, sufficiency, and tokens that answer or are wrong.

    python training/train.py --base build/bases/msmarco --rows rows.pickle --out FOLDER

Needs a GPU, torch and transformers. With --teacher, logits of an ensemble are learned beside the
labels, and rows without a label count too. Writes weights.npz (int8 codes with their scales, as the
export stores them); with --pairs also the logits of a file of pairs. With --average, nothing is
trained: the weights are the mean of those in these folders.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from bases import read_base
from batches import DEVICE, Pace, Ragged, ahead, batches, support_loss
from codes import write_codes
from rows import Label, Row, Span, Task, prepared, read_pairs

WINDOW = 512
JUDGED_TOKENS = 131_072 if DEVICE == "cuda" else 4096
LABELS_COUNT = 0.5
"""The labels' share beside the teacher."""
POINTS_COUNT = 0.3
"""The token heads' share beside the decisions."""
UNKNOWN = -1


class Encoder(nn.Module):
    """The first token, read by a head a task, and the tokens of the last layer but one, read by a
    head that marks evidence that answers (0) and words that are wrong (1)."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False)
        self.support = nn.Linear(config.hidden_size, 3)
        self.sufficiency = nn.Linear(config.hidden_size, 2)
        self.tokens = nn.Linear(config.hidden_size, 2)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found = self.encoder(
            ids, attention_mask=mask, token_type_ids=types, output_hidden_states=True
        )
        with torch.autocast(DEVICE, enabled=False):
            first = found.last_hidden_state[:, 0].float()
            every = found.hidden_states[-2].float()
            return self.support(first), self.sufficiency(first), self.tokens(every)


class Encoded:
    """Rows as token ids, segments and marks (1: of a span, 0: of none, UNKNOWN: not told)."""

    def __init__(self, tokenizer: Tokenizer, rows: Sequence[Row]) -> None:
        asked = [f"{row.question} {row.said}" if row.question else row.said for row in rows]
        said = tokenizer.encode_batch(asked, add_special_tokens=False)
        evidence = tokenizer.encode_batch([row.evidence for row in rows], add_special_tokens=False)
        start, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        ids, types, marks = [], [], []
        for row, one, other in zip(rows, said, evidence, strict=True):
            first = [start, *one.ids[-(WINDOW // 2) :], end]
            room = WINDOW - len(first) - 1
            second = [*other.ids[:room], end]
            ids.append(first + second)
            types.append([0] * len(first) + [1] * len(second))
            shift = len(row.question) + 1 if row.question else 0
            marks.append(
                [UNKNOWN, *_wrong(row, one.offsets[-(WINDOW // 2) :], shift), UNKNOWN,
                 *_pointed(row, other.offsets[:room]), UNKNOWN]
            )  # fmt: skip
        self.ids, self.types, self.marks = Ragged.of(ids), Ragged.of(types), Ragged.of(marks)

    def inputs(self, chosen: Any) -> tuple[Any, ...]:
        ids = self.ids.padded(chosen)
        mask = np.arange(ids.shape[1]) < self.ids.lengths[chosen][:, None]
        marks = self.marks.padded(chosen, UNKNOWN)
        return ids, self.types.padded(chosen), mask.astype(np.int64), marks


def _wrong(row: Row, offsets: Sequence[Span], shift: int) -> list[int]:
    """Supported words are not wrong; of a wrong claim with known spans, those in them are."""
    if row.task is Task.SUFFICIENCY or not (row.wrong or row.label is Label.SUPPORTED):
        return [UNKNOWN] * len(offsets)
    found = []
    for start, end in offsets:
        inside = any(a < end - shift and start - shift < z for a, z in row.wrong)
        found.append(UNKNOWN if start < shift else int(inside))
    return found


def _pointed(row: Row, offsets: Sequence[Span]) -> list[int]:
    if not row.points:
        return [UNKNOWN] * len(offsets)
    return [int(any(a < end and start < z for a, z in row.points)) for start, end in offsets]


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
        told = torch.where(
            of_support, -(three * support.log_softmax(-1)).sum(-1), -(kept * two).sum(-1)
        )
        known = torch.where(label == Label.UNLABELLED, 0.0, hard)
        hard = told + LABELS_COUNT * known
    column = batch["types"] == 0
    told = torch.where(column, tokens[..., 1], tokens[..., 0])
    known = (batch["marks"] >= 0).float()
    each = nn.functional.binary_cross_entropy_with_logits(
        told, batch["marks"].clamp(min=0).float(), reduction="none"
    )
    marked = (each * known).sum(1) / known.sum(1).clamp(min=1)
    return ((hard + POINTS_COUNT * marked) * weight).sum() / weight.sum()


def train(
    model: Encoder, encoded: Encoded, rows: Sequence[Row], weight: Tensor,
    teacher: Tensor | None, given: argparse.Namespace,
) -> None:  # fmt: skip
    task = torch.tensor([int(row.task) for row in rows])
    label = torch.tensor([int(row.label) for row in rows])
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.rate, weight_decay=0.01, fused=True)
    lengths = encoded.ids.lengths
    total = sum(1 for _ in batches(lengths, given.tokens, random.Random(0))) * given.epochs
    pace = Pace(total, given.until, warm=100)
    draw = random.Random(given.seed)
    model.train()
    fast = torch.compile(model, dynamic=True) if given.compile else model
    begun = time.time()
    for _ in range(given.epochs):
        for chosen, arrays in ahead(batches(lengths, given.tokens, draw), encoded.inputs):
            ids, types, mask, marks = on_gpu(arrays)
            with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=DEVICE == "cuda"):
                outputs = fast(ids, types, mask)
            batch = {"types": types, "marks": marks}
            told = {"task": task, "label": label, "weight": weight}
            told |= {} if teacher is None else {"teacher": teacher}
            batch |= {name: value[chosen].to(DEVICE) for name, value in told.items()}
            loss = loss_of(outputs, batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            more = pace.next(optimizer, given.rate)
            optimizer.step()
            if pace.step % 200 == 0:
                spent = time.time() - begun
                print(f"{pace.step}/{total} loss {loss.item():.4f} {spent:.0f} s", flush=True)
            if not more:
                return


def on_gpu(arrays: Sequence[Any]) -> list[Tensor]:
    return [torch.from_numpy(array).to(DEVICE) for array in arrays]


@torch.inference_mode()
def judge(model: Encoder, encoded: Encoded) -> np.ndarray[Any, Any]:
    """Five logits a row: three of support, two of sufficiency."""
    model.eval()
    found = np.zeros((len(encoded.ids), 5), np.float32)
    chosen_batches = batches(encoded.ids.lengths, JUDGED_TOKENS, None)
    for chosen, arrays in ahead(chosen_batches, encoded.inputs):
        ids, types, mask, _ = on_gpu(arrays)
        with torch.autocast(DEVICE, dtype=torch.bfloat16, enabled=DEVICE == "cuda"):
            support, sufficiency, _ = model(ids, types, mask)
        found[chosen] = torch.cat([support, sufficiency], -1).float().cpu().numpy()
    return found


def load(base: Path, seed: int, dropout: float) -> tuple[Encoder, Tokenizer]:
    torch.manual_seed(seed)
    config = BertConfig.from_json_file(str(base / "config.json"))
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    model = Encoder(config)
    tensors = {name: torch.from_numpy(value) for name, value in read_base(base).items()}
    missing, _ = model.encoder.load_state_dict(tensors, strict=False)
    if missing:
        raise SystemExit(f"{base} lacks {missing[:3]}")
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return model.to(DEVICE), tokenizer


def state_of(model: Encoder) -> dict[str, Any]:
    named = {name: value.float().cpu().numpy() for name, value in model.state_dict().items()}
    return {name.removeprefix("encoder."): value for name, value in named.items()}


def averaged(model: Encoder, folders: Sequence[Path]) -> None:
    states = [dict(np.load(folder / "exact.npz")) for folder in folders]
    names = {name.removeprefix("encoder."): name for name in model.state_dict()}
    mean = {
        whole: torch.from_numpy(np.mean([state[short] for state in states], axis=0))
        for short, whole in names.items()
        if short in states[0]
    }
    model.load_state_dict(mean, strict=False)


def learn(model: Encoder, tokenizer: Tokenizer, given: argparse.Namespace) -> None:
    rows = [row for path in given.rows for row in prepared(path)]
    left_out = re.compile(given.without) if given.without else None
    places = [
        n for n, row in enumerate(rows)
        if not (left_out and left_out.search(row.origin))
        and (given.teacher or row.label is not Label.UNLABELLED)
    ]  # fmt: skip
    kept = [rows[n] for n in places]
    encoded = Encoded(tokenizer, kept)
    counts = Counter(row.origin for row in kept)
    (given.out / "trained.json").write_text(json.dumps(dict(sorted(counts.items())), indent=2))
    print(f"{len(kept)} rows, {encoded.ids.starts[-1] / 1e6:.1f} M tokens", flush=True)
    weight = torch.tensor([given.written if "written" in r.origin else 1.0 for r in kept])
    while given.teacher and not given.teacher.exists():
        time.sleep(0.5)
    teacher = torch.from_numpy(np.load(given.teacher)[places]) if given.teacher else None
    train(model, encoded, kept, weight, teacher, given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--rows", type=Path, nargs="+", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--teacher", type=Path, help="logits for the rows, in their order")
    parser.add_argument("--pairs", type=Path, nargs="*", default=[], help="files to judge")
    parser.add_argument("--label", type=Path, nargs="*", default=[], help="rows to judge")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--until", type=float, default=0.0, help="stop at this Unix time")
    parser.add_argument("--without", help="a pattern of origins to leave out")
    parser.add_argument("--written", type=float, default=1.0, help="weight of the written rows")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--compile", action="store_true", help="fuse kernels: slower to start")
    parser.add_argument("--tokens", type=int, default=32_768, help="of a batch")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--average", type=Path, nargs="+", help="folders of earlier trainings")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    model, tokenizer = load(given.base, given.seed, given.dropout)
    if given.average:
        averaged(model, given.average)
    else:
        learn(model, tokenizer, given)
    state = state_of(model)
    write_codes(given.out / "weights.npz", state)
    np.savez(given.out / "exact.npz", **state)
    for path in given.pairs:
        found = judge(model, Encoded(tokenizer, read_pairs(path)))
        np.save(given.out / f"{path.name.split('.')[0]}.npy", found)
    for path in given.label:
        found = judge(model, Encoded(tokenizer, prepared(path)))
        np.save(given.out / f"{path.stem}-logits.npy", found.astype(np.float16))
    print(f"wrote {given.out}", flush=True)


if __name__ == "__main__":
    main()
