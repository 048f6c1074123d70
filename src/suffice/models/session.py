"""Opens ONNX files with bounded threads, no telemetry and readable errors."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from suffice.errors import ModelDamaged
from suffice.models.threads import bounded


def state_of(file: Path) -> tuple[int, int] | None:
    """Identifies the file at a path, to detect replacement; `None` if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def open_session(model: Path, threads: int = 0) -> Any:
    """An onnxruntime session on the CPU; `threads` 0 uses one per core, at most four. A process
    opens a file once: sessions can run in several threads at a time."""
    return _opened(model, bounded(threads), state_of(model), os.getpid())


# Unbounded cache: a forked process opens its own sessions and must never release those of its
# parent, because closing a session waits for threads that exist only in the parent.
@cache
def _opened(model: Path, threads: int, _state: object, _process: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Idle threads sleep: this costs 2 % alone and leaves the cores to others in a server.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime raises a different type for each kind of damage
        raise ModelDamaged(
            f"{model} cannot be loaded: {problem}", remedy="Check the file, or export it again."
        ) from problem
