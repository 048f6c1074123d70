"""Export the trained fast verifier as an int8 ONNX file with its card.

    pip install -r training/requirements.txt
    python training/verifier.py --trained FOLDER --pairs pairs.jsonl.gz [--base FOLDER_OR_WHEEL]

Run from the repository root, with the package installed. --trained holds the model.safetensors that
training/fast.py wrote, --base the model it began from, --pairs the pairs of training/pairs.py on
which the card's distance to the fp32 model is measured. Writes model.onnx, tokenizer.json,
card.json, LICENSE and NOTICE into --out. Every run gives the same bytes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from safetensors.numpy import load
from tokenizers import Tokenizer

from embedder import (
    BASE,
    LICENCE,
    TOOLS,
    find_base,
    fingerprint,
    open_session,
    read_base,
)
from export import FLOAT, INT8, BertShape, Floats, Graph, Precision, bert_first_token
from prepare import SEED
from rows import Label, Row, Task, read, read_pairs
from suffice.models.tokens import segments

NAME = "minilm-l6-verifier"
WINDOW = 512
OUT = Path("src/suffice/models/weights") / NAME
DATA = Path("../shared/data")
SAMPLE = 300
LARGEST = 30_000_000
HEADS = {
    "support": ("supported", "not_mentioned", "contradicted"),
    "sufficiency": ("lacking", "enough"),
}
"""The outputs of the graph, and what each of their columns stands for."""
DECIDING = {Task.SUPPORT: ("support", 0), Task.SUFFICIENCY: ("sufficiency", 1)}
"""The output and the column that decide a task."""
TRAINED = "Trained by training/fast.py."
MERGED = ("calibration", "thresholds")
"""What training/calibrate.py adds to the card."""
RECIPE = (
    "Exported as a BERT graph in fused form (MultiHeadAttention, SkipLayerNormalization, "
    "FastGelu), of the last layer only the first token; linear weights 8-bit, symmetric, one scale "
    "a column; activations 8-bit, symmetric, one scale a token, taken at run time; word and "
    "position tables int8, one scale a row; attention, normalisation, GELU and heads in fp32; "
    "tokens padded inside the graph to a multiple of 16, so that results do not depend on batch, "
    "padding or threads"
)
NOTICE = """minilm-l6-verifier is a fine-tuned and quantised form of
sentence-transformers/all-MiniLM-L6-v2, licensed under the Apache License, Version 2.0 (see LICENSE
in this folder).

Changes: trained to judge claims and questions beside evidence, with two heads on the first token;
converted to ONNX and quantised to 8 bits; truncation and padding settings were removed from
tokenizer.json. The sets it was trained on are named with their licences in card.json.
"""
LEAVE = (
    "Employees with at least one year of service may take 16 weeks of paid parental leave. It can "
    "be split into two parts, both within a year of the birth or adoption."
)
INVOICE = "Invoice 2024-117: 3 chairs at €1,249.50 each, due 31 March. Late payment costs 1.5 %.\n"
GOLDEN_PAIRS = (
    ("Parental leave is 16 weeks.", LEAVE),
    ("Parental leave is 26 weeks and unpaid.", LEAVE),
    ("Parents may also work half time for two years after the birth.", LEAVE),
    ("How many weeks of parental leave do employees get?", LEAVE),
    ("Who approves a request for parental leave?", LEAVE),
    ("The three chairs cost €3,748.50 in total, to be paid by the end of March.", INVOICE * 8),
)

Counts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained verifier: the encoder's tensors and the heads', with the base's other files."""

    config: Mapping[str, object]
    tensors: Mapping[str, Floats]
    tokenizer: Mapping[str, object]

    @property
    def matched(self) -> bool:
        """Whether tokens that stand on both sides were told apart in training."""
        return len(self.tensors["embeddings.token_type_embeddings.weight"]) == 4

    @classmethod
    def read(cls, folder: Path, base: Path) -> Trained:
        origin = read_base(base)
        tensors = load((folder / "model.safetensors").read_bytes())
        return cls(origin.config, as_float(tensors), origin.tokenizer)


@dataclass(frozen=True, slots=True)
class Story:
    """What the card tells of the training that the weights do not show."""

    recipe: str = TRAINED
    sets: Counts = field(default_factory=dict)
    rows: Counts = field(default_factory=dict)
    """Rows trained on, by set and origin, as the training run counted them."""
    merged: Mapping[str, Any] = field(default_factory=dict)
    """See MERGED."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--base", type=Path, help="wheel or folder of the base model")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="pairs to measure, for a task")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--recipe", default=TRAINED, help="how the model was trained")
    parser.add_argument("--rows-by-origin", type=Path, help="JSON of the rows trained on")
    parser.add_argument("--calibration", type=Path, help=f"JSON with {' and '.join(MERGED)}")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trained = Trained.read(given.trained, find_base(given.base, Path(scratch)))
        story = Story(
            recipe=given.recipe,
            sets=training_sets(given.data),
            rows=read_json(given.rows_by_origin) if given.rows_by_origin else {},
            merged=read_merged(given.calibration) if given.calibration else {},
        )
        pairs = sample(read_pairs(given.pairs), given.sample)
        build(trained, given.out, pairs, story, Path(scratch))
    print(f"wrote {given.out}")


def as_float(tensors: Mapping[str, Any]) -> dict[str, Floats]:
    """The tensors of a state dict in fp32, the encoder's under the names `export` knows."""
    return {
        name.removeprefix("encoder."): value.astype(np.float32)
        for name, value in tensors.items()
        if np.issubdtype(value.dtype, np.floating)
    }


def training_sets(data: Path) -> dict[str, dict[str, object]]:
    """For each set in the training files: how many rows it has, and under which licences."""
    rows: Counter[str] = Counter()
    licences: dict[str, set[str]] = defaultdict(set)
    files = sorted(data.glob("*/train.jsonl.gz"))
    if not files:
        raise SystemExit(f"{data} holds no training files. Give their folder: --data")
    for file in files:
        for row in read(file):
            rows[row["set"]] += 1
            licences[row["set"]].add(row["licence"])
    return {name: {"rows": rows[name], "licences": sorted(licences[name])} for name in sorted(rows)}


def read_json(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text("utf-8")))


def read_merged(path: Path) -> dict[str, Any]:
    found = read_json(path)
    if not set(found) <= set(MERGED):
        raise SystemExit(f"{path} holds {', '.join(found)}; only {', '.join(MERGED)} can be merged")
    return found


def sample(pairs: Sequence[Row], count: int) -> list[Row]:
    """`count` pairs of each task, evenly spread over the file."""
    chosen: list[Row] = []
    for task in Task:
        own = [pair for pair in pairs if pair.task is task]
        chosen += own[:: max(1, len(own) // count)][:count]
    return chosen


def build(trained: Trained, out: Path, pairs: Sequence[Row], story: Story, scratch: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_verifier(trained, INT8, out / "model.onnx")
    text = json.dumps(trained.tokenizer, ensure_ascii=False, separators=(",", ":"))
    (out / "tokenizer.json").write_text(text, "utf-8")
    write_verifier(trained, FLOAT, scratch / "fp32.onnx")
    card = make_card(trained, out, scratch / "fp32.onnx", pairs, story)
    (out / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", "utf-8")
    shutil.copyfile(LICENCE, out / "LICENSE")
    (out / "NOTICE").write_text(NOTICE, "utf-8")
    size = sum(file.stat().st_size for file in out.iterdir())
    if size > LARGEST:
        raise SystemExit(f"{out} is {size} bytes; {LARGEST} is the most a wheel should carry")


def write_verifier(trained: Trained, precision: Precision, path: Path) -> None:
    graph = Graph()
    shape = BertShape.from_config(trained.config)
    first = bert_first_token(graph, trained.tensors, shape, precision, segments=True)
    for name, columns in HEADS.items():
        logits = head(graph, name, trained.tensors, first)
        graph.output(name, logits, ["batch", len(columns)])
    graph.save(path)


def head(graph: Graph, name: str, tensors: Mapping[str, Floats], first: str) -> str:
    """A linear layer over (batch, hidden), in fp32: nothing is rounded after it."""
    weight = graph.constant(f"{name}.weight", tensors[f"{name}.weight"].T)
    product = graph.add("MatMul", first, weight)
    return graph.add("Add", product, graph.constant(f"{name}.bias", tensors[f"{name}.bias"]))


def make_card(
    trained: Trained, out: Path, reference: Path, pairs: Sequence[Row], story: Story
) -> dict[str, object]:
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    session, exact = open_session(out / "model.onnx"), open_session(reference)
    return {
        "name": NAME,
        "task": "verification",
        "version": "1",
        "files": {name: fingerprint(out / name) for name in ("model.onnx", "tokenizer.json")},
        "dimension": BertShape.from_config(trained.config).hidden,
        "window": WINDOW,
        "heads": HEADS,
        "matched": trained.matched,
        "base": BASE,
        "licence": "Apache-2.0",
        "recipe": f"{story.recipe} {RECIPE}",
        "seed": SEED,
        "training_sets": story.sets,
        "training_rows": story.rows,
        "tools": {tool: version(tool) for tool in TOOLS},
        "measured": {
            "distance_to_fp32": distances(tokenizer, session, exact, pairs, trained.matched)
        },
        **story.merged,
        # int8 rounding turns another CPU's last-bit differences into larger ones, see embedder.py.
        "golden_tolerance": 0.02,
        "golden": golden(tokenizer, session, trained.matched),
    }


def distances(
    tokenizer: Tokenizer,
    session: onnxruntime.InferenceSession,
    exact: onnxruntime.InferenceSession,
    pairs: Sequence[Row],
    matched: bool,
) -> dict[str, dict[str, object]]:
    """By head, on its own task's pairs: how far probabilities are from fp32's, and how many
    decisions at 0.5 differ."""
    found: dict[str, dict[str, object]] = {}
    for task, (name, column) in DECIDING.items():
        own = [tokens(tokenizer, pair, matched=matched) for pair in pairs if pair.task is task]
        if not own:
            continue
        ours = np.concatenate([run(session, [one])[name] for one in own])
        theirs = np.concatenate([run(exact, [one])[name] for one in own])
        apart = np.abs(ours - theirs)
        flips = (ours[:, column] >= 0.5) != (theirs[:, column] >= 0.5)
        found[name] = {
            "pairs": len(own),
            "mean": round(float(apart.mean()), 5),
            "max": round(float(apart.max()), 5),
            "flips": int(flips.sum()),
        }
    return found


def golden(
    tokenizer: Tokenizer, session: onnxruntime.InferenceSession, matched: bool
) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for said, evidence in GOLDEN_PAIRS:
        row = Row(Task.SUPPORT, said, evidence, Label.UNLABELLED, "golden")
        scores = run(session, [tokens(tokenizer, row, matched=matched)])
        rounded = {name: [round(float(p), 4) for p in scores[name][0]] for name in HEADS}
        made.append({"said": said, "evidence": evidence, **rounded})
    return made


Tokens = tuple[list[int], list[int]]
"""Ids and segments of one pair."""


def tokens(tokenizer: Tokenizer, row: Row, *, matched: bool) -> Tokens:
    """As training/fast.py encodes: what is said first, then as much evidence as there is room."""
    asked = f"{row.question} {row.said}" if row.question else row.said
    said = tokenizer.encode(asked, add_special_tokens=False).ids
    evidence = tokenizer.encode(row.evidence, add_special_tokens=False).ids
    start, end = mark(tokenizer, "[CLS]"), mark(tokenizer, "[SEP]")
    first = [start, *said[-(WINDOW // 2) :], end]
    second = [*evidence[: WINDOW - len(first) - 1], end]
    return first + second, segments(first, second, matched=matched)


def mark(tokenizer: Tokenizer, name: str) -> int:
    number = tokenizer.token_to_id(name)
    if number is None:
        raise SystemExit(f"the tokenizer has no {name}; this export is for BERT's")
    return int(number)


def run(
    session: onnxruntime.InferenceSession, batch: Sequence[Tokens], extra: int = 0
) -> dict[str, Floats]:
    """Probabilities by head, for one batch padded to its longest pair and `extra` tokens more."""
    ids = np.zeros((len(batch), max(len(one) for one, _ in batch) + extra), np.int64)
    mask, kinds = np.zeros_like(ids), np.zeros_like(ids)
    for row, (one, own) in enumerate(batch):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
        kinds[row, : len(one)] = own
    inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}
    logits = session.run(list(HEADS), inputs)
    return {name: softmax(values) for name, values in zip(HEADS, logits, strict=True)}


def softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)


if __name__ == "__main__":
    main()
