"""What a figure was measured with: versions, machine, data. Kept beside every result."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any


def run_record(*data: Path) -> dict[str, Any]:
    """Package and library versions, the machine, and the sha256 of each data file."""
    packages = ("suffice", "onnxruntime", "tokenizers", "numpy", "qdrant-edge-py")
    return {
        "versions": {"python": platform.python_version(), **{p: version(p) for p in packages}},
        "machine": {"architecture": platform.machine(), "cores": os.cpu_count()},
        "data": {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in data},
    }
