"""Settings as a tree of plain values, with secrets masked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

_USER = re.compile(r"(?<=://)[^/?#@]*@")
_QUERY = re.compile(r"(?<=\?)[^#\s]+")
_MASK = "…"


def masked(value: Any) -> Any:
    """Return settings as a tree. API keys live in environment variables, so only variable names
    appear; credentials, query strings and webhook paths in URLs are masked."""
    if is_dataclass(value):
        tree = {field.name: masked(getattr(value, field.name)) for field in fields(value)}
        if tree.get("gap_webhook"):
            tree["gap_webhook"] = "/".join(str(tree["gap_webhook"]).split("/")[:3]) + f"/{_MASK}"
        if "secret_env" in tree and tree.get("url"):
            tree["url"] = "/".join(str(tree["url"]).split("/")[:3]) + f"/{_MASK}"
        if tree.get("own", "") is None:
            del tree["own"]
        return tree
    if isinstance(value, Mapping):
        return {key: masked(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return [masked(entry) for entry in value]
    return _QUERY.sub(_MASK, _USER.sub(f"{_MASK}@", value)) if isinstance(value, str) else value
