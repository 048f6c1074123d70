"""Opening an ONNX file: bounded threads, no telemetry, errors in our own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from suffice.errors import ModelDamaged
from suffice.models.threads import bounded


def open_session(model: Path, threads: int = 0) -> Any:
    """An onnxruntime session on the CPU; `threads` 0 takes the cores there are, at most four."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = bounded(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Waiting threads sleep: costs 2 % alone, and leaves the cores to others in a server.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime raises a type of its own for each kind of damage
        raise ModelDamaged(
            f"{model} cannot be loaded: {problem}", remedy="Check the file, or export it again."
        ) from problem
