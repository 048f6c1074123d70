"""The canonical JSON form of a value, to be stored and hashed. Equal values have equal texts.

It is ASCII JSON without white space, with keys sorted by code point. Text is not Unicode-normalised
and everything outside ASCII is escaped, so NUL and lone surrogates survive any database; two
adjacent surrogates read back as the character they encode. A float is the shortest text that reads
back as the same number; non-finite floats are the texts "nan", "inf" and "-inf". Dates are ISO
8601, sets are sorted lists.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any

ALGORITHM = "sha256"


def canonical(value: object) -> str:
    """The canonical text of a value; it contains no line break.

    >>> canonical({"b": 1.0, "a": "ü"})
    '{"a":"\\\\u00fc","b":1.0}'
    """
    try:
        return _ENCODER.encode(value)
    except ValueError:  # rare: the value contains a non-finite float
        return _ENCODER.encode(_finite(value))


def read(text: str) -> Any:
    """Parse a canonical text."""
    return json.loads(text)


def digest(data: bytes) -> str:
    """The hash, prefixed with its algorithm: "sha256:…"."""
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def _other(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        return sorted(value, key=canonical)
    if isinstance(value, Mapping):
        return dict(value)
    scalar = getattr(value, "item", None)  # a NumPy scalar
    if callable(scalar):
        return scalar()
    raise TypeError(f"A {type(value).__name__} has no canonical form.")


def _finite(value: object) -> object:
    """The value with non-finite floats replaced by strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(_finite, value), key=canonical)
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=_other
)
