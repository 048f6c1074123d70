"""BERT checkpoints to ONNX: exported, fused and quantised in one pass.

The graph is written node by node from the checkpoint's tensors, already in onnxruntime's fused form
(MultiHeadAttention, SkipLayerNormalization, FastGelu). So there is no tracer, no pattern matcher
that may silently miss a pattern, and the same checkpoint always gives the same bytes.

    graph = Graph()
    hidden, mask = bert_encoder(graph, tensors, shape, INT8)
    graph.output("embedding", mean_pool(graph, hidden, mask), ["batch", shape.hidden])
    graph.save(path)

How weights, embedding tables and the activation are computed is a `Precision`. `INT8` gives every
token its own activation scale, so a text's result does not depend on its batch, its padding or the
number of threads, and no calibration data is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnx.external_data_helper import set_external_data

OPSET = 17
IR_VERSION = 8
CONTRIB = "com.microsoft"
INT8_MAX = 127
UINT8_ZERO = 128
PAD_MULTIPLE = 16

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BertShape:
    """The numbers of a BERT configuration that its tensors do not show."""

    layers: int
    hidden: int
    heads: int
    epsilon: float

    @classmethod
    def from_config(cls, config: Mapping[str, object]) -> BertShape:
        """Read a checkpoint's config.json; refuse what the graph below would compute wrongly."""
        for key, needed in (("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
            if config.get(key, needed) != needed:
                raise ValueError(f"{key} is {config[key]!r}; this export handles {needed!r} only")
        return cls(
            layers=int(str(config["num_hidden_layers"])),
            hidden=int(str(config["hidden_size"])),
            heads=int(str(config["num_attention_heads"])),
            epsilon=float(str(config["layer_norm_eps"])),
        )


class Graph:
    """An ONNX graph under construction: nodes and constants in the order they are written."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: Sequence[int | str]) -> str:
        """An int64 input: token ids, a mask, segments."""
        self._inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, list(shape)))
        return name

    def output(self, name: str, value: str, shape: Sequence[int | str]) -> None:
        """A float output."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape)))

    def constant(self, name: str, value: NDArray[np.generic]) -> str:
        """A named constant; giving the same name twice means the same constant."""
        if name not in self._constants:
            # Not ascontiguousarray: that would turn a scalar into a vector.
            self._constants[name] = numpy_helper.from_array(np.array(value, order="C"), name)
        return name

    def integers(self, *values: int) -> str:
        """A constant int64 vector, as shapes, axes and slices take it."""
        name = "int." + ".".join(str(value) for value in values)
        return self.constant(name, np.array(values, np.int64))

    def number(self, value: float) -> str:
        """A constant float scalar."""
        return self.constant(f"float.{value!r}", np.array(value, np.float32))

    def add(
        self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any
    ) -> str:
        """Append a node and return its first output's name; the others are that name plus .1, .2"""
        name = f"{kind}_{len(self._nodes)}"
        names = [name, *(f"{name}.{extra}" for extra in range(1, outputs))]
        self._nodes.append(helper.make_node(kind, list(inputs), names, domain=domain, **attributes))
        return name

    def save(self, path: Path) -> None:
        graph = helper.make_graph(
            self._nodes, "bert", self._inputs, self._outputs, list(self._constants.values())
        )
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString(deterministic=True))


def set_apart(path: Path, name: str) -> Path:
    """Move a constant of a saved graph to a file of its own beside it, where onnxruntime finds it:
    many hosts take no file over 100 MB."""
    model = onnx.load(str(path))
    (held,) = [one for one in model.graph.initializer if one.name == name]
    beside = path.with_name(f"{name.split('.')[0]}.bin")
    beside.write_bytes(held.raw_data)
    set_external_data(held, beside.name)
    held.ClearField("raw_data")
    path.write_bytes(model.SerializeToString(deterministic=True))
    return beside


class Linear(Protocol):
    """Multiplies one activation (tokens, K) by several weights (K, N)."""

    def __call__(
        self, graph: Graph, value: str, weights: Mapping[str, Floats]
    ) -> tuple[str, ...]: ...


class Table(Protocol):
    """Looks up float rows of an embedding table."""

    def __call__(self, graph: Graph, name: str, table: Floats, ids: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Precision:
    """How an encoder stores and computes: its weights, its tables, its fused bias and GELU."""

    linear: Linear
    table: Table
    gelu: str


def float_linear(graph: Graph, value: str, weights: Mapping[str, Floats]) -> tuple[str, ...]:
    return tuple(
        graph.add("MatMul", value, graph.constant(name, weight)) for name, weight in weights.items()
    )


def float_table(graph: Graph, name: str, table: Floats, ids: str) -> str:
    return graph.add("Gather", graph.constant(name, table), ids)


def symmetric_int8(values: Floats, axis: int) -> tuple[NDArray[np.int8], Floats]:
    """Round to int8 with one scale for each slice along `axis`; the scales keep that axis as 1."""
    peak = np.abs(values).max(axis=axis, keepdims=True)
    scale = np.where(peak > 0, peak / INT8_MAX, 1).astype(np.float32)
    return np.rint(values / scale).astype(np.int8), scale


def as_uint8(codes: NDArray[np.int8]) -> NDArray[np.uint8]:
    """The same codes with their zero at UINT8_ZERO."""
    return (codes.astype(np.int16) + UINT8_ZERO).astype(np.uint8)


def row_int8_table(graph: Graph, name: str, table: Floats, ids: str) -> str:
    codes, scale = symmetric_int8(table, axis=1)
    rows = graph.add("Gather", graph.constant(f"{name}.int8", codes), ids)
    scales = graph.add("Gather", graph.constant(f"{name}.scale", scale), ids)
    return graph.add("Mul", graph.add("Cast", rows, to=TensorProto.FLOAT), scales)


def per_token_int8(graph: Graph, value: str, weights: Mapping[str, Floats]) -> tuple[str, ...]:
    """int8 by int8, with one scale for each token and each output column.

    onnxruntime's own dynamic quantisation takes one scale from the whole batch, so a text's result
    changes with its neighbours. Here each row's scale comes from that row alone.
    Both sides are stored as uint8 around 128: on ARM every signedness is as fast, while on x86
    signed by signed has no fast kernel and unsigned by signed saturates on CPUs without VNNI.
    """
    peak = graph.add("ReduceMax", graph.add("Abs", value), axes=[1], keepdims=1)
    # The floor keeps an all-zero row from dividing by zero.
    scale = graph.add("Max", graph.add("Mul", peak, graph.number(1 / INT8_MAX)), graph.number(1e-8))
    flat = graph.add("Reshape", scale, graph.integers(-1))
    zeros = graph.add(
        "ConstantOfShape",
        graph.add("Shape", flat),
        value=helper.make_tensor("zero", TensorProto.UINT8, [1], [UINT8_ZERO]),
    )
    codes = graph.add("QuantizeLinear", value, flat, zeros, axis=0)
    zero = graph.constant("uint8.zero", np.array(UINT8_ZERO, np.uint8))
    products = []
    for name, weight in weights.items():
        columns, column_scale = symmetric_int8(weight, axis=0)
        product = graph.add(
            "MatMulIntegerToFloat",
            codes,
            graph.constant(f"{name}.int8", as_uint8(columns)),
            graph.number(1.0),
            graph.constant(f"{name}.scale", column_scale.reshape(-1)),
            zero,
            zero,
            domain=CONTRIB,
        )
        products.append(graph.add("Mul", product, scale))
    return tuple(products)


FLOAT = Precision(float_linear, float_table, "BiasGelu")
# FastGelu is the tanh form: half the time of the exact one, and far below int8's own error.
INT8 = Precision(per_token_int8, row_int8_table, "FastGelu")


def bert_encoder(
    graph: Graph,
    tensors: Mapping[str, Floats],
    shape: BertShape,
    precision: Precision,
    segments: bool = False,
) -> tuple[str, str]:
    """Write a BERT encoder; returns its last hidden states (batch, tokens, hidden) and the mask
    (batch, tokens) that goes with them.

    Inputs of the graph: input_ids and attention_mask; token_type_ids too where `segments`, else
    every token is of segment 0.
    """
    return _Bert(graph, tensors, shape, precision).encode(segments)


def bert_first_token(
    graph: Graph,
    tensors: Mapping[str, Floats],
    shape: BertShape,
    precision: Precision,
    segments: bool = False,
) -> tuple[str, str]:
    """Write the same encoder, but only the first token's last hidden state (batch, hidden), and the
    states of all tokens after the last layer but one (batch, tokens, hidden).

    Of the last layer, the other tokens' keys and values are all that is computed.
    """
    return _Bert(graph, tensors, shape, precision).first_token(segments)


def mean_pool(graph: Graph, hidden: str, mask: str) -> str:
    """Unit-length mean of the hidden states of the unmasked tokens."""
    weights = graph.add("Cast", mask, to=TensorProto.FLOAT)
    row = graph.add("Unsqueeze", weights, graph.integers(1))
    # The mean's divisor cancels in the normalisation, so a masked sum is enough.
    total = graph.add("Squeeze", graph.add("MatMul", row, hidden), graph.integers(1))
    return graph.add("LpNormalization", total, axis=-1, p=2)


@dataclass(frozen=True, slots=True)
class _Places:
    """Where tokens stand: the unflattened shape (batch, tokens, hidden), the keys to see, and, for
    an encoder that has them, its biases for distances (1, heads, tokens, tokens)."""

    layout: str
    key_mask: str
    bias: str = ""


@dataclass(frozen=True, slots=True)
class _Bert:
    """The parts of `bert_encoder`. Between layers, states are flat: (batch * tokens, hidden)."""

    graph: Graph
    tensors: Mapping[str, Floats]
    shape: BertShape
    precision: Precision

    def encode(self, segments: bool) -> tuple[str, str]:
        ids, mask, places = self._inputs()
        states = self._embeddings(ids, segments)
        for layer in range(self.shape.layers):
            states = self._layer(f"encoder.layer.{layer}", states, states, places)
        return self.graph.add("Reshape", states, places.layout), mask

    def first_token(self, segments: bool) -> tuple[str, str]:
        ids, _, places = self._inputs()
        states = self._embeddings(ids, segments)
        for layer in range(self.shape.layers - 1):
            states = self._layer(f"encoder.layer.{layer}", states, states, places)
        rows = self.graph.add("Reshape", states, places.layout)
        first = self.graph.add("Gather", rows, self.graph.constant("first", np.array(0)), axis=1)
        last = self._layer(f"encoder.layer.{self.shape.layers - 1}", first, states, places)
        return last, rows

    def _inputs(self) -> tuple[str, str, _Places]:
        ids = self._padded_input("input_ids")
        mask = self._padded_input("attention_mask")
        key_mask = self.graph.add("Cast", mask, to=TensorProto.INT32)
        width = self.graph.integers(self.shape.hidden)
        layout = self.graph.add("Concat", self.graph.add("Shape", ids), width, axis=0)
        return ids, mask, _Places(layout, key_mask, self._distances(ids))

    def _distances(self, ids: str) -> str:
        """The bias of each head for the distance from a token to another, as MPNet has it. The
        table `relative` (heads, distances) begins with the longest distance backwards."""
        if "relative" not in self.tensors:
            return ""
        add, integers = self.graph.add, self.graph.integers
        table = self.tensors["relative"]
        longest = table.shape[1] // 2
        order = self.graph.constant("distances", np.arange(longest + 1, dtype=np.int64))
        places = add("Slice", order, integers(0), self._count(ids), integers(0))
        ahead = add("Unsqueeze", places, integers(0))
        away = add("Sub", ahead, add("Unsqueeze", places, integers(1)))
        chosen = add("Add", away, integers(longest))
        biases = add("Gather", self.graph.constant("relative", table), chosen, axis=1)
        return add("Unsqueeze", biases, integers(0))

    def _layer(self, prefix: str, asking: str, states: str, places: _Places) -> str:
        """The new states of the `asking` tokens: all of `states`, or the first of each text."""
        return self._feed_forward(prefix, self._attention(prefix, asking, states, places))

    def _padded_input(self, name: str) -> str:
        """An input (batch, tokens), lengthened with zeros to a multiple of PAD_MULTIPLE.

        A softmax adds its terms in lanes, so a row padded to 21 sums in another order than the same
        row of 20. The difference is 1e-8, but int8 rounding after it turns it into 1e-2. Whole
        blocks of zeros leave the order, hence every bit, alone.
        """
        add, integers = self.graph.add, self.graph.integers
        value = self.graph.input(name, ["batch", "tokens"])
        missing = add("Mod", add("Neg", self._count(value)), integers(PAD_MULTIPLE))
        return add("Pad", value, add("Concat", integers(0, 0, 0), missing, axis=0))

    def _count(self, value: str) -> str:
        """The second dimension of a value, as a vector of one."""
        one, two, zero = (self.graph.integers(n) for n in (1, 2, 0))
        return self.graph.add("Slice", self.graph.add("Shape", value), one, two, zero)

    def _embeddings(self, ids: str, segments: bool) -> str:
        graph, table, zero = self.graph, self.precision.table, self.graph.integers(0)
        kinds = self.tensors["embeddings.token_type_embeddings.weight"]
        positions = self.tensors["embeddings.position_embeddings.weight"]
        if not segments:
            positions = positions + kinds[:1]
        order = graph.constant("places", np.arange(len(positions), dtype=np.int64))
        places = graph.add("Slice", order, zero, self._count(ids), zero)
        words = table(graph, "words", self.tensors["embeddings.word_embeddings.weight"], ids)
        total = graph.add("Add", words, table(graph, "positions", positions, places))
        if segments:
            chosen = float_table(graph, "segments", kinds, self._padded_input("token_type_ids"))
            total = graph.add("Add", total, chosen)
        gain, shift = self._norm("embeddings.LayerNorm")
        normed = graph.add(
            "LayerNormalization", total, gain, shift, axis=-1, epsilon=self.shape.epsilon
        )
        return self._flat(normed)

    def _attention(self, prefix: str, asking: str, states: str, places: _Places) -> str:
        parts = [f"{prefix}.attention.self.{part}" for part in ("query", "key", "value")]
        bias = np.concatenate([self.tensors[f"{part}.bias"] for part in parts])
        if asking == states:
            query, key, value = self._linear(states, parts)
            asked, distances = places.layout, places.bias
        else:
            (query,) = self._linear(asking, parts[:1])
            key, value = self._linear(states, parts[1:])
            asked = self.graph.integers(-1, 1, self.shape.hidden)
            distances = self._of_first(places.bias)
        attended = self.graph.add(
            "MultiHeadAttention",
            self.graph.add("Reshape", query, asked),
            self.graph.add("Reshape", key, places.layout),
            self.graph.add("Reshape", value, places.layout),
            self.graph.constant(f"{prefix}.attention.self.bias", bias),
            places.key_mask,
            *([distances] if distances else []),
            domain=CONTRIB,
            num_heads=self.shape.heads,
        )
        return self._add_norm(f"{prefix}.attention.output", self._flat(attended), asking)

    def _of_first(self, bias: str) -> str:
        """The biases of the first token alone."""
        zero, one, two = (self.graph.integers(n) for n in (0, 1, 2))
        return self.graph.add("Slice", bias, zero, one, two) if bias else ""

    def _feed_forward(self, prefix: str, states: str) -> str:
        inner = f"{prefix}.intermediate.dense"
        (wide,) = self._linear(states, [inner])
        active = self.graph.add(
            self.precision.gelu, wide, self._tensor(f"{inner}.bias"), domain=CONTRIB
        )
        return self._add_norm(f"{prefix}.output", active, states)

    def _add_norm(self, prefix: str, value: str, residual: str) -> str:
        """Project, add the bias and the residual, normalise."""
        (product,) = self._linear(value, [f"{prefix}.dense"])
        return self.graph.add(
            "SkipLayerNormalization",
            product,
            residual,
            *self._norm(f"{prefix}.LayerNorm"),
            self._tensor(f"{prefix}.dense.bias"),
            domain=CONTRIB,
            epsilon=self.shape.epsilon,
        )

    def _linear(self, value: str, names: Sequence[str]) -> tuple[str, ...]:
        # torch stores (N, K); ONNX multiplies by (K, N).
        weights = {name: self.tensors[f"{name}.weight"].T for name in names}
        return self.precision.linear(self.graph, value, weights)

    def _norm(self, name: str) -> tuple[str, str]:
        return self._tensor(f"{name}.weight"), self._tensor(f"{name}.bias")

    def _tensor(self, name: str) -> str:
        return self.graph.constant(name, self.tensors[name])

    def _flat(self, value: str) -> str:
        return self.graph.add("Reshape", value, self.graph.integers(-1, self.shape.hidden))
