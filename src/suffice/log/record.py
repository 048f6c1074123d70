"""A record: one event, before it is sealed into the chain."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

_NAME = re.compile(r"[a-z][a-z_]{0,39}\Z")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, without ambiguous letters
WHO = "who"


def new_id() -> str:
    """A unique id of 26 characters; ids sort by the time of creation."""
    number = time.time_ns() // 1_000_000 << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))


@dataclass(frozen=True, slots=True)
class Record:
    """An event of some `kind` ("verdict", "gate", "gap", "override", "erasure", …; the set is
    open). `fields` maps names to JSON trees. `caller` made the request, `tag` names the person or
    case concerned; content can be erased by either. A record with `once` is written only if its id
    is new."""

    kind: str
    fields: Mapping[str, object]
    caller: str = ""
    tag: str = ""
    id: str = field(default_factory=new_id)
    once: bool = False

    def __post_init__(self) -> None:
        for name in (self.kind, *self.fields):
            if not _NAME.match(name) or name == WHO:
                raise ValueError(f"{name!r} is not a valid name for a kind or field of a record")
