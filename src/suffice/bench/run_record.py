"""What a figure was measured with: commit, versions, machine, data. Kept beside every result."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("suffice", "onnxruntime", "tokenizers", "numpy", "qdrant-edge-py")


def run_record(*data: Path) -> dict[str, Any]:
    """The commit (where there is one), versions, the machine, and the sha256 of each data file."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "versions": {"python": platform.python_version(), **{p: version(p) for p in _PACKAGES}},
        "machine": {"architecture": platform.machine(), "cores": os.cpu_count()},
        "data": {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in data},
    }


def _git(*args: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *args], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
