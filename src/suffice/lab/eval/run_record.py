"""The conditions of a measurement: commit, versions, machine, data. Stored with every result."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("suffice", "onnxruntime", "tokenizers", "numpy", "qdrant-edge-py")


def run_record(*data: Path) -> dict[str, Any]:
    """The commit (if any), versions, the machine, and the sha256 of each data file."""
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": {"architecture": platform.machine(), "cores": os.cpu_count()},
        "data": {
            _name(path, data): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in data
        },
    }


def _name(path: Path, beside: Sequence[Path]) -> str:
    """The file name, with as many parent folders as needed to make it unique."""
    others = [other.resolve().parts for other in beside if other.resolve() != path.resolve()]
    parts = path.resolve().parts
    for count in range(1, len(parts)):
        if all(other[-count:] != parts[-count:] for other in others):
            return "/".join(parts[-count:])
    return path.name


def _versions() -> dict[str, str]:
    """The versions of the installed packages; extras may be missing."""
    found = {}
    for package in _PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def _git(*args: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *args], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
