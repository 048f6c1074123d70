"""Model outputs that all processes of a test run share: many tests ask about the same sentences."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from suffice.models.session import state_of

_FOLDER = "PYTEST_SUFFICE_OUTPUTS"
"""The environment variable that tells the workers of a run where the outputs are. Variables that
begin with SUFFICE_ are settings."""
_IN_MEMORY = 200_000_000
"""Bytes of outputs that a process also keeps in memory."""
RECALLS = [True]
"""Whether a model gives an output that it gave before; tests marked `runs_models` set it aside."""
_LARGEST = 1_000_000
"""Bytes of the largest output that goes into the folder."""


def share() -> Path | None:
    """Run a model only on what no process of this run gave it before. Returns the folder of the
    outputs to the process that made it, which removes it in the end."""
    made = None
    if _FOLDER not in os.environ:
        made = Path(tempfile.mkdtemp(prefix="suffice-outputs-"))
        os.environ[_FOLDER] = str(made)
    folder = Path(os.environ[_FOLDER])
    opened, run = onnxruntime.InferenceSession.__init__, onnxruntime.InferenceSession.run
    known: OrderedDict[bytes, list[Any]] = OrderedDict()
    size = 0

    def identified(self: Any, model: str | bytes, *args: Any, **options: Any) -> None:
        opened(self, model, *args, **options)
        self._identity = _identity(model)

    def shared(self: Any, names: Any, feed: Mapping[str, Any], options: Any = None) -> Any:
        nonlocal size
        if not RECALLS[-1]:
            return run(self, names, feed, options)
        key = _key(self, names, feed)
        found = known.get(key)
        if found is None:
            file = folder / key.hex()
            found = _read(file)
            if found is None:
                found = run(self, names, feed, options)
                _write(file, found)
            known[key] = found
            size += _bytes(found)
            while size > _IN_MEMORY:
                size -= _bytes(known.popitem(last=False)[1])
        return [output.copy() for output in found]

    onnxruntime.InferenceSession.__init__ = identified
    onnxruntime.InferenceSession.run = shared
    return made


def forget(folder: Path) -> None:
    del os.environ[_FOLDER]
    shutil.rmtree(folder, ignore_errors=True)


def _identity(model: str | bytes) -> str:
    if isinstance(model, bytes):
        return hashlib.blake2b(model, digest_size=20).hexdigest()
    # Tests write models of their own, one after another to the same path.
    return f"{(model, state_of(Path(model)))}"


def _key(session: Any, names: Any, feed: Mapping[str, Any]) -> bytes:
    digest = hashlib.blake2b(f"{session._identity} {names}".encode(), digest_size=20)
    for name, value in sorted(feed.items()):
        array = np.ascontiguousarray(value)
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.data)
    return digest.digest()


def _bytes(outputs: list[Any]) -> int:
    return sum(output.nbytes for output in outputs)


def _read(file: Path) -> list[Any] | None:
    with suppress(FileNotFoundError):
        found: list[Any] = pickle.loads(file.read_bytes())
        return found
    return None


def _write(file: Path, outputs: list[Any]) -> None:
    """Complete or not at all, for other processes read it."""
    if _bytes(outputs) > _LARGEST:
        return
    part = file.with_name(f"{file.name}.{os.getpid()}.{id(outputs)}")
    part.write_bytes(pickle.dumps(outputs))
    part.replace(file)
