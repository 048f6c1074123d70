"""Opens ONNX files with a limited number of threads, and signed weights where they are faster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from suffice.errors import ModelDamaged

_PROCESSOR = Path("/proc/cpuinfo")
_AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
"""With all of these, onnxruntime takes its AVX-512 kernels."""

_OPERATOR = b"MatMulIntegerToFloat"
_ZERO = b"uint8.zero"
"""What the exporter calls the zero point of all codes, 128."""

# Field numbers of the ONNX format, and two of its element types.
_MODEL_GRAPH = 7
_GRAPH_NODE, _GRAPH_TENSOR = 1, 5
_NODE_INPUT, _NODE_OPERATOR, _NODE_COMMENT = 1, 4, 6
_TENSOR_TYPE, _TENSOR_NAME, _TENSOR_DATA = 2, 8, 9
_UINT8, _INT8 = 2, 3
_TEXT = 2
"""The wire type of strings, bytes and messages."""


def prefers_signed(processor: Path = _PROCESSOR) -> bool:
    """Whether onnxruntime multiplies by signed weights with VNNI here, fast and exactly."""
    try:
        lines = processor.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    flags = next((set(line.split()) for line in lines if line.startswith("flags")), set())
    vnni = "avx512_vnni" if flags >= _AVX512 else "avx_vnni"
    return vnni in flags and "amx_int8" not in flags


def with_signed_weights(file: Path) -> bytes | None:
    """The model with signed weights; `None` if it has no unsigned weights as the exporter writes
    them, or cannot be read. Only bytes of the same place change, so every length stays right."""
    try:
        data = np.memmap(file, np.uint8, "c")
        found = _places(data.data)
    except (OSError, ValueError, IndexError):
        return None  # onnxruntime says what is wrong with the file
    if not found.codes:
        return None
    for start, end in found.codes:
        data[start:end] ^= 0x80
    data[found.types] = _INT8
    # A zero point that is left out is 0: the name of the other one becomes the node's comment.
    data[found.zeros] = _NODE_COMMENT << 3 | _TEXT
    return data.tobytes()


@dataclass(slots=True)
class _Places:
    """Where the unsigned weights stand: their codes, the bytes with their element types, and the
    tags of the inputs that name their zero point."""

    codes: list[tuple[int, int]] = field(default_factory=list)
    types: list[int] = field(default_factory=list)
    zeros: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a message: its number, and where its tag and its value stand."""

    number: int
    tag: int
    start: int
    end: int


def _places(data: memoryview) -> _Places:
    found, names = _Places(), set()
    tensors: dict[bytes, dict[int, _Field]] = {}
    for graph in _fields(data, 0, len(data), _MODEL_GRAPH):
        for part in _fields(data, graph.start, graph.end, _GRAPH_NODE, _GRAPH_TENSOR):
            own = list(_fields(data, part.start, part.end))
            if part.number == _GRAPH_TENSOR:
                tensor = {one.number: one for one in own}
                tensors[_text(data, tensor.get(_TENSOR_NAME))] = tensor
                continue
            inputs = [one for one in own if one.number == _NODE_INPUT]
            operators = [_text(data, one) for one in own if one.number == _NODE_OPERATOR]
            if operators == [_OPERATOR] and len(inputs) == 6 and _text(data, inputs[5]) == _ZERO:
                names.add(_text(data, inputs[1]))
                found.zeros.append(inputs[5].tag)
    if names and _text(data, tensors.get(_ZERO, {}).get(_TENSOR_DATA)) != b"\x80":
        return _Places()
    for name in names:
        tensor = tensors.get(name, {})
        if not {_TENSOR_TYPE, _TENSOR_DATA} <= tensor.keys():
            return _Places()
        kind, codes = tensor[_TENSOR_TYPE], tensor[_TENSOR_DATA]
        if data[kind.start] != _UINT8:
            return _Places()
        found.types.append(kind.start)
        found.codes.append((codes.start, codes.end))
    return found


def _text(data: memoryview, one: _Field | None) -> bytes:
    return bytes(data[one.start : one.end]) if one else b""


def _fields(data: memoryview, start: int, end: int, *numbers: int) -> Iterator[_Field]:
    """The fields of the message that stands there: all, or those with these numbers."""
    while start < end:
        tag = start
        key, start = _varint(data, start)
        kind, stop = key & 7, start
        if kind == 0:
            _, stop = _varint(data, start)
        elif kind == _TEXT:
            size, start = _varint(data, start)
            stop = start + size
        elif kind in (1, 5):
            stop = start + (8 if kind == 1 else 4)
        else:
            raise ValueError(f"unknown wire type {kind}")
        if stop > end:
            raise ValueError("a field is longer than its message")
        if not numbers or key >> 3 in numbers:
            yield _Field(key >> 3, tag, start, stop)
        start = stop


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number there, and where the next byte stands."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


_MOST = 4


def bounded(threads: int) -> int:
    """The given number of threads. For 0, one per core, at most four."""
    return threads or min(_MOST, os.cpu_count() or 1)


_FOLDER = "session.model_external_initializers_file_folder_path"


def state_of(file: Path) -> tuple[int, int] | None:
    """Identifies the file at a path, to detect its replacement; `None` without a file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def open_session(model: Path, threads: int = 0) -> Any:
    """An onnxruntime session on the CPU. With `threads` 0, it uses one per core, at most four. A
    process opens a file once, since several threads can use a session at the same time."""
    return _opened(model, bounded(threads), state_of(model), os.getpid())


# The cache is unbounded. A forked process opens its own sessions and must never release its
# parent's, because closing a session waits for threads that exist only in the parent.
@cache
def _opened(model: Path, threads: int, _state: object, _process: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Idle threads sleep. This costs 2 % when nothing else runs, and frees the cores on a server.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    signed = with_signed_weights(model) if prefers_signed() else None
    if signed:  # opened from memory: this is where the rest of its weights is
        options.add_session_config_entry(_FOLDER, str(model.parent))
    try:
        session = onnxruntime.InferenceSession(
            signed or str(model), options, providers=["CPUExecutionProvider"]
        )
    except Exception as problem:  # onnxruntime raises a different type for each kind of damage
        raise ModelDamaged(
            f"{model} cannot be loaded: {problem}", remedy="Check the file, or export it again."
        ) from problem
    session._model_bytes = None  # kept for other providers, and as large as the file
    return session
