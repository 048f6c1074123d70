"""The encoder of flan-T5-base with random weights: the shape of HHEM-2.1-Open.

HHEM reads evidence and answer in one pass and classifies the first token. It has no decoder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.graph import CONTRIB, Graph, Shape

T5 = Shape(layers=12, hidden=768, heads=12, inner=2048, span=0)
_BUCKETS, _FARTHEST = 32, 128


def write_t5(path: Path, shape: Shape, tokens: int, int8: bool = False) -> int:
    """A classifier with two labels: `input_ids` (1, tokens) → `logits` (1, 1, 2)."""
    graph, width = Graph("t5", path, shape, tokens, False, int8), shape.hidden
    bias = _bias(graph)
    states = graph.words()
    for _ in range(shape.layers):
        seen = _norm(graph, states)
        parts = [graph.dense(seen, width, width) for _ in range(3)]
        look = graph.attention(parts, bias, scale=1.0)
        states = graph.add("Add", states, graph.dense(look, width, width))
        seen = _norm(graph, states)
        gate = graph.add("FastGelu", graph.dense(seen, width, shape.inner), domain=CONTRIB)
        gated = graph.add("Mul", gate, graph.dense(seen, width, shape.inner))
        states = graph.add("Add", states, graph.dense(gated, shape.inner, width))
    first = graph.add("Gather", _norm(graph, states), graph.integers(0), axis=1)
    return graph.save(graph.dense(first, width, 2), (1, 1, 2))


def position_buckets(tokens: int) -> NDArray[np.int64]:
    """The relative position of each key to each query: exact when near, then in logarithmic steps;
    half of the buckets for each direction."""
    distance, half = np.arange(tokens) - np.arange(tokens)[:, None], _BUCKETS // 2
    near, far = half // 2, np.abs(distance)
    steps = np.log(np.maximum(far, near) / near) / np.log(_FARTHEST / near) * (half - near)
    beyond = np.minimum(near + steps.astype(np.int64), half - 1)
    bucket: NDArray[Any] = np.where(far < near, far, beyond) + half * (distance > 0)
    return bucket


def _bias(graph: Graph) -> str:
    """The bias of the scores by relative position, the same one in all layers. onnxruntime computes
    it when it loads the graph."""
    places = graph.constant(position_buckets(graph.tokens)[None])
    found = graph.add("Gather", graph.weight(_BUCKETS, graph.shape.heads), places)
    return graph.add("Transpose", found, perm=(0, 3, 1, 2))


def _norm(graph: Graph, value: str) -> str:
    """T5 scales by the root mean square and subtracts no mean."""
    weight = graph.weight(graph.shape.hidden)
    return graph.add("SimplifiedLayerNormalization", value, weight, axis=-1, epsilon=1e-6)
