"""Models with random weights in the shapes of DeBERTa-v3-base and ModernBERT-base, for the speed
bench.

The time does not depend on the values of the weights, only on their shapes and the operations, so
no checkpoint is needed. The graphs are written at run time, for inputs of one fixed length and
without padding, which leaves onnxruntime the least work. Weights are written to a file beside the
graph as they are drawn, so that writing needs no memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ExtraMissing

_OPSET, _IR_VERSION, _CONTRIB = 17, 8, "com.microsoft"
_VOCABULARY, _FARTHEST = 1000, 512
_LOCAL_THETA, _GLOBAL_THETA, _GLOBAL_EVERY = 10_000.0, 160_000.0, 3
_MASKED = -1e9


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions of an encoder. `span`: DeBERTa's relative positions to each side, ModernBERT's
    window of local attention."""

    layers: int
    hidden: int
    heads: int
    inner: int
    span: int


DEBERTA = Shape(layers=12, hidden=768, heads=12, inner=3072, span=256)
MODERNBERT = Shape(layers=22, hidden=768, heads=12, inner=1152, span=128)


def onnx_package() -> Any:
    """The package that writes the graphs; an error with the install command if it is missing."""
    try:
        import onnx
    except ImportError:
        raise ExtraMissing("The speed bench", "bench") from None
    return onnx


class _Graph:
    """Nodes in the order they are written; states are (1, tokens, hidden) throughout."""

    def __init__(self, path: Path, shape: Shape, tokens: int, biases: bool) -> None:
        self.path, self.shape, self.tokens, self.biases = path, shape, tokens, biases
        self.parameters = 0
        self._onnx = onnx_package()
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._random = np.random.default_rng(0)
        self._weights = path.with_suffix(".weights")
        self._weights.touch()

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Add a node; returns its first output. Further outputs have that name plus .1, .2"""
        name = f"{kind}_{len(self._nodes)}"
        names = [name, *(f"{name}.{extra}" for extra in range(1, outputs))]
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, names, **attributes))
        return name

    def constant(self, value: NDArray[Any]) -> str:
        name = f"constant_{len(self._constants)}"
        self._constants[name] = self._onnx.numpy_helper.from_array(value, name)
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def weight(self, *dims: int) -> str:
        """Random weights, stored outside the graph."""
        name, size = f"weight_{len(self._constants)}", 0.02 if len(dims) > 1 else 1.0
        values = self._random.standard_normal(dims, dtype=np.float32) * np.float32(size)
        tensor = self._onnx.TensorProto(name=name, dims=dims, data_location=1, data_type=1)
        tensor.external_data.add(key="location", value=self._weights.name)
        tensor.external_data.add(key="offset", value=str(self._weights.stat().st_size))
        with self._weights.open("ab") as file:
            file.write(values.tobytes())
        self._constants[name] = tensor
        self.parameters += values.size
        return name

    def words(self) -> str:
        """The token embeddings. A small table costs the same time; it is not counted."""
        table = self.weight(_VOCABULARY, self.shape.hidden)
        self.parameters -= _VOCABULARY * self.shape.hidden
        return self.add("Gather", table, "input_ids")

    def projection(self, *dims: int) -> list[str]:
        return [self.weight(*dims), *([self.weight(dims[-1])] if self.biases else [])]

    def linear(self, value: str, weight: str, *bias: str) -> str:
        product = self.add("MatMul", value, weight)
        return self.add("Add", product, *bias) if bias else product

    def dense(self, value: str, wide: int, high: int) -> str:
        return self.linear(value, *self.projection(wide, high))

    def gelu(self, value: str) -> str:
        return self.add("Gelu", value, domain=_CONTRIB)

    def norm(self, value: str) -> str:
        return self.add("LayerNormalization", value, *self.projection(self.shape.hidden))

    def attention(self, parts: Sequence[str], bias: str = "", scale: float = 0.0) -> str:
        """Attention of query, key and value; `bias` is added to the scores. Scale 0: the usual
        scale."""
        inputs = [*parts, "", "", bias] if bias else parts
        how: dict[str, Any] = {"num_heads": self.shape.heads, "scale": scale}
        return self.add("MultiHeadAttention", *inputs, domain=_CONTRIB, **how)

    def save(self, logits: str, shape: Sequence[int]) -> int:
        """Write the graph; returns the number of parameters."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        self._nodes.append(helper.make_node("Identity", [logits], ["logits"]))
        ids = helper.make_tensor_value_info("input_ids", kinds.INT64, [1, self.tokens])
        out = helper.make_tensor_value_info("logits", kinds.FLOAT, shape)
        graph = helper.make_graph(self._nodes, "g", [ids], [out], list(self._constants.values()))
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        self.path.write_bytes(model.SerializeToString())
        return self.parameters


def write_deberta(path: Path, shape: Shape, tokens: int) -> int:
    """A cross-encoder with three labels: `input_ids` (1, tokens) → `logits` (1, 1, 3)."""
    graph, width = _Graph(path, shape, tokens, biases=True), shape.hidden
    states = graph.norm(graph.words())
    # onnxruntime precomputes everything that depends on positions only when it loads the graph.
    positions = graph.norm(graph.weight(1, 2 * shape.span, width))
    near = np.tile(relative_buckets(tokens, shape.span), (1, shape.heads, 1, 1))
    places = [graph.constant(each) for each in (near, near.swapaxes(2, 3))]
    for _ in range(shape.layers):
        look = _disentangled(graph, states, positions, places)
        states = graph.norm(graph.add("Add", graph.dense(look, width, width), states))
        wide = graph.gelu(graph.dense(states, width, shape.inner))
        states = graph.norm(graph.add("Add", graph.dense(wide, shape.inner, width), states))
    first = graph.add("Gather", states, graph.integers(0), axis=1)
    pooled = graph.gelu(graph.dense(first, width, width))
    return graph.save(graph.dense(pooled, width, 3), (1, 1, 3))


def relative_buckets(tokens: int, buckets: int) -> NDArray[np.int32]:
    """The relative position of each token to each other: exact when near, then in logarithmic steps
    from half the buckets on."""
    distance, half = np.arange(tokens)[:, None] - np.arange(tokens), buckets // 2
    beyond = np.log(np.maximum(np.abs(distance), half) / half) / np.log((_FARTHEST - 1) / half)
    far = np.sign(distance) * (np.ceil(beyond * (half - 1)) + half)
    bucket: NDArray[Any] = np.where(np.abs(distance) <= half, distance, far) + buckets
    return bucket.clip(0, 2 * buckets - 1).astype(np.int32)


def _disentangled(graph: _Graph, states: str, positions: str, places: Sequence[str]) -> str:
    """Content-to-content, content-to-position and position-to-content attention; positions use the
    same projections as tokens (share_att_key)."""
    width, size = graph.shape.hidden, graph.shape.hidden // graph.shape.heads
    scale = graph.constant(np.array(1 / math.sqrt(3 * size), np.float32))
    query, key = (graph.projection(width, width) for _ in range(2))

    def heads(value: str, order: Sequence[int]) -> str:
        split = graph.add("Reshape", value, graph.integers(1, -1, graph.shape.heads, size))
        return graph.add("Transpose", split, perm=order)

    def against(tokens: str, positions: str, place: str) -> str:
        scores = graph.add("MatMul", heads(tokens, (0, 2, 1, 3)), heads(positions, (0, 2, 3, 1)))
        return graph.add("GatherElements", scores, place, axis=3)

    asked, asked_at = (
        graph.add("Mul", graph.linear(value, *query), scale) for value in (states, positions)
    )
    held, held_at = (graph.linear(value, *key) for value in (states, positions))
    from_place = graph.add("Transpose", against(held, asked_at, places[1]), perm=(0, 1, 3, 2))
    bias = graph.add("Add", against(asked, held_at, places[0]), from_place)
    value = graph.dense(states, width, width)
    return graph.attention((asked, held, value), bias, scale=1.0)


def write_modernbert(path: Path, shape: Shape, tokens: int) -> int:
    """A token classifier with two labels: `input_ids` (1, tokens) → `logits` (1, tokens, 2)."""
    graph, width = _Graph(path, shape, tokens, biases=False), shape.hidden
    turns = [_rotary(graph, width // shape.heads, t) for t in (_LOCAL_THETA, _GLOBAL_THETA)]
    band = graph.constant(local_band(tokens, shape.span // 2))
    states = graph.norm(graph.words())
    for layer in range(shape.layers):
        joint = graph.dense(graph.norm(states) if layer else states, width, 3 * width)
        query = graph.add("Split", joint, outputs=3, axis=2)
        far = layer % _GLOBAL_EVERY == 0
        parts = [query, f"{query}.1", f"{query}.2"]
        for n in (0, 1):
            parts[n] = graph.add("RotaryEmbedding", parts[n], *turns[far], domain=_CONTRIB)
        look = graph.attention(parts) if far else _local(graph, parts, band)
        states = graph.add("Add", states, graph.dense(look, width, width))
        wide = graph.dense(graph.norm(states), width, 2 * shape.inner)
        gate = graph.add("Split", wide, outputs=2, axis=2)
        gated = graph.add("Mul", graph.gelu(gate), f"{gate}.1")
        states = graph.add("Add", states, graph.dense(gated, shape.inner, width))
    ready = graph.dense(graph.norm(states), width, width)
    logits = graph.dense(graph.norm(graph.gelu(ready)), width, 2)
    return graph.save(logits, (1, tokens, 2))


def _rotary(graph: _Graph, size: int, theta: float) -> list[str]:
    places = np.arange(graph.tokens)
    angles = np.outer(places, theta ** (-np.arange(0, size, 2) / size)).astype(np.float32)
    return [graph.constant(each) for each in (places[None], np.cos(angles), np.sin(angles))]


def local_band(tokens: int, reach: int) -> NDArray[np.float32]:
    """The bias for the scores of `reach` queries against the keys of their own block and both
    neighbours, one row per block: 0 within reach, a large negative number elsewhere."""
    first = np.arange(math.ceil(tokens / reach))[:, None, None, None] * reach
    query, key = first + np.arange(reach)[:, None], first + np.arange(-reach, 2 * reach)
    seen = (np.abs(query - key) <= reach) & (key >= 0) & (key < tokens)
    return np.where(seen, 0, _MASKED).astype(np.float32)


def _local(graph: _Graph, parts: Sequence[str], band: str) -> str:
    """Attention in blocks of half a window, each with its neighbours. Scores beyond are never
    computed: full attention under a mask would make this shape look slower than it is."""
    reach, tokens, one = graph.shape.span // 2, graph.tokens, graph.integers(1)
    blocks = math.ceil(tokens / reach)
    in_blocks = graph.integers(blocks, reach, graph.shape.hidden)

    def cut(part: str, start: int, end: int) -> str:
        return graph.add("Slice", part, graph.integers(start), graph.integers(end), one)

    def blocked(part: str, neighbours: int) -> str:
        """Each block with the given number of blocks before and after it; zeros beyond the text."""
        edge, rest = neighbours * reach, blocks * reach - tokens
        padded = graph.add("Pad", part, graph.integers(0, edge, 0, 0, rest + edge, 0))
        runs = (cut(padded, n * reach, (n + blocks) * reach) for n in range(2 * neighbours + 1))
        return graph.add("Concat", *(graph.add("Reshape", r, in_blocks) for r in runs), axis=1)

    near = [blocked(part, neighbours) for part, neighbours in zip(parts, (0, 1, 1), strict=True)]
    look = graph.attention(near, band)
    return cut(graph.add("Reshape", look, graph.integers(1, -1, graph.shape.hidden)), 0, tokens)
