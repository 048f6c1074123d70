"""One value, one text: the canonical form, which is what is stored and hashed.

It is JSON in ASCII with keys sorted by code point and no white space. Text is taken as it is, in no
Unicode normal form, and everything beyond ASCII is escaped, so that NUL and half a surrogate pair
pass through any database; two halves beside each other are the character they make. Floats are the
shortest text that reads back as the same number; one that is no number is the text "nan", "inf" or
"-inf". Dates are ISO 8601, sets are sorted lists.
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
    """The one text of a value; it holds no line break.

    >>> canonical({"b": 1.0, "a": "ü"})
    '{"a":"\\\\u00fc","b":1.0}'
    """
    try:
        return _ENCODER.encode(value)
    except ValueError:  # some float is no number, which is rare
        return _ENCODER.encode(_told(value))


def read(text: str) -> Any:
    """The value of a canonical text."""
    return json.loads(text)


def digest(data: bytes) -> str:
    """The hash, tagged with the algorithm that made it: "sha256:…"."""
    return f"{ALGORITHM}:{hashlib.sha256(data).hexdigest()}"


def _other(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, set | frozenset):
        return sorted(value, key=canonical)
    if isinstance(value, Mapping):
        return dict(value)
    scalar = getattr(value, "item", None)  # a number of NumPy's
    if callable(scalar):
        return scalar()
    raise TypeError(f"A {type(value).__name__} has no canonical form.")


def _told(value: object) -> object:
    """The same value, where floats that are no numbers are texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _told(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(_told, value), key=canonical)
    if isinstance(value, list | tuple):
        return [_told(entry) for entry in value]
    return value


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False, default=_other
)
