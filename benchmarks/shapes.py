"""Models with random weights in the shapes of DeBERTa-v3-base and ModernBERT-base, for the speed
bench."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.graph import CONTRIB, Graph, Shape

_FARTHEST = 512
_LOCAL_THETA, _GLOBAL_THETA, _GLOBAL_EVERY = 10_000.0, 160_000.0, 3
_MASKED = -1e9

DEBERTA = Shape(layers=12, hidden=768, heads=12, inner=3072, span=256)
MODERNBERT = Shape(layers=22, hidden=768, heads=12, inner=1152, span=128)


def write_deberta(path: Path, shape: Shape, tokens: int, int8: bool = False) -> int:
    """A cross-encoder with three labels: `input_ids` (1, tokens) → `logits` (1, 1, 3)."""
    graph, width = Graph("deberta", path, shape, tokens, True, int8), shape.hidden
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


def _disentangled(graph: Graph, states: str, positions: str, places: Sequence[str]) -> str:
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


def write_modernbert(path: Path, shape: Shape, tokens: int, int8: bool = False) -> int:
    """A token classifier with two labels: `input_ids` (1, tokens) → `logits` (1, tokens, 2)."""
    graph, width = Graph("modernbert", path, shape, tokens, False, int8), shape.hidden
    turns = [_rotary(graph, width // shape.heads, t) for t in (_LOCAL_THETA, _GLOBAL_THETA)]
    band = graph.constant(local_band(tokens, shape.span // 2))
    states = graph.norm(graph.words())
    for layer in range(shape.layers):
        joint = graph.dense(graph.norm(states) if layer else states, width, 3 * width)
        query = graph.add("Split", joint, outputs=3, axis=2)
        far = layer % _GLOBAL_EVERY == 0
        parts = [query, f"{query}.1", f"{query}.2"]
        for n in (0, 1):
            parts[n] = graph.add("RotaryEmbedding", parts[n], *turns[far], domain=CONTRIB)
        look = graph.attention(parts) if far else _local(graph, parts, band)
        states = graph.add("Add", states, graph.dense(look, width, width))
        wide = graph.dense(graph.norm(states), width, 2 * shape.inner)
        gate = graph.add("Split", wide, outputs=2, axis=2)
        gated = graph.add("Mul", graph.gelu(gate), f"{gate}.1")
        states = graph.add("Add", states, graph.dense(gated, shape.inner, width))
    ready = graph.dense(graph.norm(states), width, width)
    logits = graph.dense(graph.norm(graph.gelu(ready)), width, 2)
    return graph.save(logits, (1, tokens, 2))


def _rotary(graph: Graph, size: int, theta: float) -> list[str]:
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


def _local(graph: Graph, parts: Sequence[str], band: str) -> str:
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
