"""Reads the JSON files that describe a user's model and its inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from suffice.errors import ModelDamaged


def read_config(path: Path, *, needed: bool = True) -> dict[str, Any]:
    """The content of a file; empty if it is missing but optional, or not a mapping."""
    if not needed and not path.exists():
        return {}
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise ModelDamaged(
            f"{path} cannot be read: {problem}.",
            remedy="Save the model's original file to that path.",
        ) from problem
    return value if isinstance(value, dict) else {}
