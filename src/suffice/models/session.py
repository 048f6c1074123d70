"""Opens ONNX files with a limited number of threads, no telemetry and readable errors."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from suffice.errors import ModelDamaged
from suffice.models.signed_weights import prefers_signed, with_signed_weights
from suffice.models.threads import bounded

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
