"""The hash chain: each record's link hashes the previous link and the record's own columns.

    link = sha256(previous link, sequence, id, time, clock, kind, root, seal; one per line)

The link before the first record is derived from the log's id, so no two logs share a chain.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
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


def parse(text: str) -> Any:
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


FORMAT = "suffice record 1"
_TAG = f"{ALGORITHM}:".encode()


def genesis(log: str) -> bytes:
    """The link before the first record of a log."""
    return digest(f"{FORMAT}\n{log}".encode()).encode()


def link_of(
    previous: bytes, sequence: int, id: str, time: str, clock: str, kind: str, root: str, seal: str
) -> bytes:
    """The link of a record. `clock` is the clock reading if it was behind the previous record;
    `time` is then that record's time."""
    return link_over(previous, sequence, "\n".join((id, time, clock, kind, root, seal)).encode())


def link_over(previous: bytes, sequence: int, columns: bytes) -> bytes:
    """The link of a record whose columns are already joined by line breaks."""
    text = b"%b\n%d\n%b" % (previous, sequence, columns)
    return _TAG + hashlib.sha256(text).hexdigest().encode()


Clock = Callable[[], datetime]


def now() -> datetime:
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """The time as text, for example "2026-01-31T12:00:00.000000Z"."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read_time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
