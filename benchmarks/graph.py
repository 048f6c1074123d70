"""Writes ONNX graphs with random weights, in fp32 or int8.

The time does not depend on the values of the weights, only on their shapes and the operations, so
no checkpoint is needed. Graphs are written at run time, for inputs of one fixed length and without
padding, which leaves onnxruntime the least work. Weights are written to a file beside the graph as
they are drawn, so that writing needs no memory. Graphs of one model that differ only in their
length share that file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.errors import ExtraMissing

CONTRIB = "com.microsoft"
_OPSET, _IR_VERSION = 17, 8
_VOCABULARY = 1000
_FLOAT, _INT8 = 1, 3
"""Data types of ONNX tensors."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The dimensions of an encoder. `span`: DeBERTa's relative positions to each side, ModernBERT's
    window of local attention."""

    layers: int
    hidden: int
    heads: int
    inner: int
    span: int


def onnx_package() -> Any:
    """The package that writes the graphs; an error with the install command if it is missing."""
    try:
        import onnx
    except ImportError:
        raise ExtraMissing("The speed bench", "bench") from None
    return onnx


class Graph:
    """Nodes in the order they are written; states are (1, tokens, hidden) throughout. Graphs of one
    `model` draw the same weights in the same order, whatever their length."""

    def __init__(
        self, model: str, path: Path, shape: Shape, tokens: int, biases: bool, int8: bool = False
    ) -> None:
        self.path, self.shape, self.tokens, self.biases = path, shape, tokens, biases
        self.int8 = int8
        self.parameters = 0
        self._onnx = onnx_package()
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}
        self._random = np.random.default_rng(0)
        self._scales: dict[str, str] = {}
        kind = (model, *astuple(shape), "int8" if int8 else "fp32")
        self._weights = path.with_name("-".join(map(str, kind)) + ".weights")
        self._drawn = self._weights.exists()
        self._weights.touch()
        self._offset = 0

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
        size = np.float32(0.02 if len(dims) > 1 else 1.0)
        return self._stored(
            dims, 4, _FLOAT, lambda: self._random.standard_normal(dims, dtype=np.float32) * size
        )

    def _stored(
        self, dims: Sequence[int], width: int, kind: int, draw: Callable[[], NDArray[Any]]
    ) -> str:
        """A tensor at the next place of the weights file, drawn by the first graph that has it."""
        name, count = f"weight_{len(self._constants)}", int(np.prod(dims))
        tensor = self._onnx.TensorProto(name=name, dims=dims, data_location=1, data_type=kind)
        tensor.external_data.add(key="location", value=self._weights.name)
        tensor.external_data.add(key="offset", value=str(self._offset))
        tensor.external_data.add(key="length", value=str(count * width))
        if not self._drawn:
            with self._weights.open("ab") as file:
                file.write(draw().tobytes())
        self._constants[name] = tensor
        self._offset += count * width
        self.parameters += count
        return name

    def words(self) -> str:
        """The token embeddings. A small table costs the same time; it is not counted."""
        table = self.weight(_VOCABULARY, self.shape.hidden)
        self.parameters -= _VOCABULARY * self.shape.hidden
        return self.add("Gather", table, "input_ids")

    def projection(self, *dims: int) -> list[str]:
        """A weight for `linear` or `norm`, with a bias if the model has biases."""
        weight = self._quantised(dims) if self.int8 and len(dims) > 1 else self.weight(*dims)
        return [weight, *([self.weight(dims[-1])] if self.biases else [])]

    def _quantised(self, dims: Sequence[int]) -> str:
        def draw() -> NDArray[Any]:
            return self._random.integers(-127, 128, dims, dtype=np.int8)

        name = self._stored(dims, 1, _INT8, draw)
        self._scales[name] = self.constant(np.array(3e-4, np.float32))
        return name

    def linear(self, value: str, weight: str, *bias: str) -> str:
        """A product with a weight. In int8, the scale of the input is taken at run time, as dynamic
        quantisation does."""
        if scale := self._scales.get(weight):
            inputs = [value, weight, scale, *(["", *bias] if bias else [])]
            return self.add("DynamicQuantizeMatMul", *inputs, domain=CONTRIB)
        product = self.add("MatMul", value, weight)
        return self.add("Add", product, *bias) if bias else product

    def dense(self, value: str, wide: int, high: int) -> str:
        return self.linear(value, *self.projection(wide, high))

    def gelu(self, value: str) -> str:
        return self.add("Gelu", value, domain=CONTRIB)

    def norm(self, value: str) -> str:
        return self.add("LayerNormalization", value, *self.projection(self.shape.hidden))

    def attention(self, parts: Sequence[str], bias: str = "", scale: float = 0.0) -> str:
        """Attention of query, key and value; `bias` is added to the scores. Scale 0: the usual
        scale."""
        inputs = [*parts, "", "", bias] if bias else parts
        how: dict[str, Any] = {"num_heads": self.shape.heads, "scale": scale}
        return self.add("MultiHeadAttention", *inputs, domain=CONTRIB, **how)

    def save(self, logits: str, shape: Sequence[int]) -> int:
        """Write the graph; returns the number of parameters."""
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        self._nodes.append(helper.make_node("Identity", [logits], ["logits"]))
        ids = helper.make_tensor_value_info("input_ids", kinds.INT64, [1, self.tokens])
        out = helper.make_tensor_value_info("logits", kinds.FLOAT, shape)
        graph = helper.make_graph(self._nodes, "g", [ids], [out], list(self._constants.values()))
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        self.path.write_bytes(model.SerializeToString())
        return self.parameters
