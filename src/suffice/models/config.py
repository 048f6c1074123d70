"""The JSON files that lie beside a user's own model: what it is, and how it is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from suffice.errors import ModelDamaged


def read_config(path: Path, *, needed: bool = True) -> dict[str, Any]:
    """What the file holds; nothing where it is neither there nor needed, or holds no mapping."""
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
