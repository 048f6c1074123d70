"""Reads the JSON files beside a user's own model, which describe the model and its inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from suffice.errors import ModelDamaged


def read_config(path: Path, *, needed: bool = True) -> dict[str, Any]:
    """The content of the file; empty if the file is optional and missing, or is not a mapping."""
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
