"""Export a trained encoder as an int8 ONNX file with its card.

    pip install -r training/requirements.txt
    python -m training.verifier --name fast --trained FOLDER --pairs build/near.jsonl.gz

Run from the repository root, with the package installed. --trained holds the weights.npz that
training/train.py wrote, --bases the bases of training/bases.py, --pairs the pairs on which the
card's distance to the fp32 model is measured. Writes model.onnx, tokenizer.json, card.json, LICENSE
and NOTICE. Every run gives the same bytes.
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
from tokenizers import Tokenizer

from .bases import BASES, MPNET, Base
from .codes import read_codes
from .embedder import LICENCE, TOOLS, fingerprint, open_session
from .export import FLOAT, INT8, BertShape, Floats, Graph, Precision, bert_first_token, set_apart
from .prepare import ANNOTATIONS, SEED
from .rows import Label, Row, Task, read, read_pairs
from .written import training_cases

WINDOW = 512
WEIGHTS = Path("src/suffice/models/weights")
STRONG = Path("strong/src/suffice_strong/weights")
DATA = Path("../shared/data")
SAMPLE = 300
HEADS = {
    "support": ("supported", "not_mentioned", "contradicted"),
    "sufficiency": ("lacking", "enough"),
}
"""The outputs of the graph that judge, and what each of their columns stands for."""
MARKS = ("answers", "wrong")
"""The columns of the output `tokens`: of evidence, and of what is said."""
DECIDING = {Task.SUPPORT: ("support", 0), Task.SUFFICIENCY: ("sufficiency", 1)}
"""The output and the column that decide a task."""
RECIPE = (
    "Exported as a BERT graph in fused form (MultiHeadAttention, SkipLayerNormalization, "
    "FastGelu), of the last layer only the first token; tokens are marked after the layer before "
    "it; linear weights 8-bit, symmetric, one scale a column; activations 8-bit, symmetric, one "
    "scale a token, taken at run time; word and position tables int8, one scale a row; attention, "
    "normalisation, GELU and heads in fp32; tokens padded inside the graph to a multiple of 16, so "
    "that results do not depend on batch, padding or threads"
)
NOTICE = """{name} is a fine-tuned and quantised form of {model}, published under {licence}.
The fine-tuned weights are licensed under the Apache License, Version 2.0 (see LICENSE in this
folder).{more}

Changes: trained to judge claims and questions beside evidence, with two heads on the first token
and one on every token; converted to ONNX and quantised to 8 bits; truncation and padding settings
were removed from tokenizer.json. The sets it was trained on are named with their licences in
card.json.
"""
MSMARCO = """

ms-marco-MiniLM-L-12-v2 was trained on MS MARCO, whose passages are for non-commercial research. The
model is published under Apache-2.0."""
MPNET_DATA = """

all-mpnet-base-v2 was trained on a billion pairs of sentences, among them MS MARCO, whose passages
are for non-commercial research. The model is published under Apache-2.0."""


@dataclass(frozen=True, slots=True)
class Made:
    """A weight file that ships: its name, what it was trained from and where it goes."""

    name: str
    base: str
    out: Path
    recipe: str
    largest: int = 36_000_000
    """Bytes that the file may have."""
    apart: str = ""
    """The constant that is a file of its own, to keep each file under 100 MB."""

    @property
    def files(self) -> tuple[str, ...]:
        beside = (f"{self.apart.split('.')[0]}.bin",) if self.apart else ()
        return ("model.onnx", *beside, "tokenizer.json")


TAUGHT = (
    "The mean of the weights of an encoder and, counted twice, of its student: the same encoder "
    "trained on with the labels and the scores of a larger encoder (all-mpnet-base-v2, Apache-2.0, "
    "trained on the same rows). The encoder comes from five such rounds, one of them with labels "
    "alone; the first of its line is the mean of two trainings by training/train.py on labelled "
    "and written rows. "
)
PLAIN = "Trained by training/train.py on labelled and written rows. "
MADE = {
    "fast": Made("minilm-l12-verifier", "msmarco", WEIGHTS / "minilm-l12-verifier", TAUGHT),
    "strong": Made(
        "mpnet-verifier", "mpnet", STRONG / "mpnet-verifier", PLAIN, 90_000_000, "words.int8"
    ),
}
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
    """A trained encoder: its tensors and the heads', with the base's other files."""

    made: Made
    config: Mapping[str, object]
    tensors: Mapping[str, Floats]
    tokenizer: str

    @property
    def base(self) -> Base:
        return MPNET if self.made.base == "mpnet" else BASES[self.made.base]

    @classmethod
    def read(cls, made: Made, folder: Path, bases: Path) -> Trained:
        base = bases / made.base
        config = json.loads((base / "config.json").read_text("utf-8"))
        tokenizer = (base / "tokenizer.json").read_text("utf-8")
        return cls(made, config, read_codes(folder / "weights.npz"), tokenizer)


@dataclass(frozen=True, slots=True)
class Story:
    """What the card tells of the training that the weights do not show."""

    sets: Counts = field(default_factory=dict)
    rows: Counts = field(default_factory=dict)
    """Rows trained on, by origin, as the training run counted them."""
    calibration: Mapping[str, Any] = field(default_factory=dict)
    """See training/calibrate.py."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--name", choices=MADE, required=True)
    parser.add_argument("--trained", type=Path, required=True)
    parser.add_argument("--bases", type=Path, default=Path("build/bases"))
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="pairs to measure, for a task")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--calibration", type=Path, required=True, help="of training/calibrate.py")
    given = parser.parse_args()
    trained = Trained.read(MADE[given.name], given.trained, given.bases)
    story = Story(
        sets=training_sets(given.data),
        rows=read_json(given.trained / "trained.json"),
        calibration=read_json(given.calibration),
    )
    pairs = sample(read_pairs(given.pairs), given.sample)
    with tempfile.TemporaryDirectory() as scratch:
        build(trained, pairs, story, Path(scratch))
    print(f"wrote {trained.made.out}")


def training_sets(data: Path) -> dict[str, dict[str, object]]:
    """For each set in the training files: how many rows it has, and under which licences."""
    rows: Counter[str] = Counter()
    licences: dict[str, set[str]] = defaultdict(set)
    files = [data / kind / "train.jsonl.gz" for kind in ("grounding", "sufficiency")]
    if not all(file.is_file() for file in files):
        raise SystemExit(f"{data} holds no training files. Give their folder: --data")
    for file in files:
        for row in read(file):
            rows[row["set"]] += 1
            licences[row["set"]].add(row["licence"])
    for case in training_cases(data, ANNOTATIONS):
        name = f"written {case['source']} (by language models, audited)"
        rows[name] += 1
        licences[name].add(case["licence"])
    return {name: {"rows": rows[name], "licences": sorted(licences[name])} for name in sorted(rows)}


def read_json(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text("utf-8")))


def sample(pairs: Sequence[Row], count: int) -> list[Row]:
    """`count` pairs of each task, evenly spread over the file."""
    chosen: list[Row] = []
    for task in Task:
        own = [pair for pair in pairs if pair.task is task]
        chosen += own[:: max(1, len(own) // count)][:count]
    return chosen


def build(trained: Trained, pairs: Sequence[Row], story: Story, scratch: Path) -> None:
    made, out = trained.made, trained.made.out
    out.mkdir(parents=True, exist_ok=True)
    write_verifier(trained, INT8, out / "model.onnx")
    if made.apart:
        set_apart(out / "model.onnx", made.apart)
    (out / "tokenizer.json").write_text(trained.tokenizer, "utf-8")
    write_verifier(trained, FLOAT, scratch / "fp32.onnx")
    card = make_card(trained, scratch / "fp32.onnx", pairs, story)
    (out / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", "utf-8")
    shutil.copyfile(LICENCE, out / "LICENSE")
    base = trained.base
    more = {"msmarco": MSMARCO, "mpnet": MPNET_DATA}[made.base]
    notice = NOTICE.format(name=made.name, model=base.model, licence=base.licence, more=more)
    (out / "NOTICE").write_text(notice, "utf-8")
    size = (out / "model.onnx").stat().st_size
    if size > made.largest:
        raise SystemExit(f"{out} is {size} bytes; {made.largest} is the most it should have")


def write_verifier(trained: Trained, precision: Precision, path: Path) -> None:
    graph = Graph()
    shape = BertShape.from_config(trained.config)
    first, every = bert_first_token(graph, trained.tensors, shape, precision, segments=True)
    for name, columns in HEADS.items():
        graph.output(name, head(graph, name, trained.tensors, first), ["batch", len(columns)])
    marks = head(graph, "tokens", trained.tensors, every)
    graph.output("tokens", marks, ["batch", "padded", len(MARKS)])
    graph.save(path)


def head(graph: Graph, name: str, tensors: Mapping[str, Floats], first: str) -> str:
    """A linear layer over the last dimension, in fp32: nothing is rounded after it."""
    weight = graph.constant(f"{name}.weight", tensors[f"{name}.weight"].T)
    product = graph.add("MatMul", first, weight)
    return graph.add("Add", product, graph.constant(f"{name}.bias", tensors[f"{name}.bias"]))


def make_card(
    trained: Trained, reference: Path, pairs: Sequence[Row], story: Story
) -> dict[str, object]:
    out = trained.made.out
    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    session, exact = open_session(out / "model.onnx"), open_session(reference)
    return {
        "name": trained.made.name,
        "task": "verification",
        "version": "1",
        "files": {name: fingerprint(out / name) for name in trained.made.files},
        "dimension": BertShape.from_config(trained.config).hidden,
        "window": WINDOW,
        "heads": {**HEADS, "tokens": MARKS},
        "base": trained.base.card,
        "licence": "Apache-2.0",
        "recipe": f"{trained.made.recipe}{RECIPE}",
        "seed": SEED,
        "training_sets": story.sets,
        "training_rows": story.rows,
        "tools": {tool: version(tool) for tool in TOOLS},
        "measured": {"distance_to_fp32": distances(tokenizer, session, exact, pairs)},
        "calibration": story.calibration,
        # int8 rounding turns another CPU's last-bit differences into larger ones, see embedder.py.
        "golden_tolerance": 0.02,
        "golden": golden(tokenizer, session),
    }


def distances(
    tokenizer: Tokenizer,
    session: onnxruntime.InferenceSession,
    exact: onnxruntime.InferenceSession,
    pairs: Sequence[Row],
) -> dict[str, dict[str, object]]:
    """By head, on its own task's pairs: how far probabilities are from fp32's, and how many
    decisions at 0.5 differ."""
    found: dict[str, dict[str, object]] = {}
    for task, (name, column) in DECIDING.items():
        own = [tokens(tokenizer, pair) for pair in pairs if pair.task is task]
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


def golden(tokenizer: Tokenizer, session: onnxruntime.InferenceSession) -> list[dict[str, object]]:
    made: list[dict[str, object]] = []
    for text, evidence in GOLDEN_PAIRS:
        row = Row(Task.SUPPORT, text, evidence, Label.UNLABELLED, "golden")
        scores = run(session, [tokens(tokenizer, row)])
        rounded = {name: [round(float(p), 4) for p in scores[name][0]] for name in HEADS}
        made.append({"said": text, "evidence": evidence, **rounded})
    return made


Tokens = tuple[list[int], list[int]]
"""Ids and segments of one pair."""


def tokens(tokenizer: Tokenizer, row: Row) -> Tokens:
    """As training/train.py encodes: what is said first, then as much evidence as there is room."""
    asked = f"{row.question} {row.text}" if row.question else row.text
    ids = tokenizer.encode(asked, add_special_tokens=False).ids
    evidence = tokenizer.encode(row.evidence, add_special_tokens=False).ids
    start, end = mark(tokenizer, "[CLS]"), mark(tokenizer, "[SEP]")
    first = [start, *ids[-(WINDOW // 2) :], end]
    second = [*evidence[: WINDOW - len(first) - 1], end]
    return first + second, [0] * len(first) + [1] * len(second)


def mark(tokenizer: Tokenizer, name: str) -> int:
    number = tokenizer.token_to_id(name)
    if number is None:
        raise SystemExit(f"the tokenizer has no {name}; this export is for BERT's")
    return int(number)


def run(
    session: onnxruntime.InferenceSession, batch: Sequence[Tokens], extra: int = 0
) -> dict[str, Floats]:
    """Probabilities by head, for one batch padded to its longest pair and `extra` tokens more."""
    logits = session.run(list(HEADS), feed(batch, extra))
    return {name: softmax(values) for name, values in zip(HEADS, logits, strict=True)}


def feed(batch: Sequence[Tokens], extra: int = 0) -> dict[str, Any]:
    """One batch as the graph takes it."""
    ids = np.zeros((len(batch), max(len(one) for one, _ in batch) + extra), np.int64)
    mask, kinds = np.zeros_like(ids), np.zeros_like(ids)
    for row, (one, own) in enumerate(batch):
        ids[row, : len(one)] = one
        mask[row, : len(one)] = 1
        kinds[row, : len(one)] = own
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": kinds}


def softmax(logits: Floats) -> Floats:
    powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True), np.float32)


if __name__ == "__main__":
    main()
