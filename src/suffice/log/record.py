"""A record: one thing that happened, before it is sealed into the chain."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

_NAME = re.compile(r"[a-z][a-z_]{0,39}\Z")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's: no letter is taken for a digit
WHO = "who"


def new_id() -> str:
    """A name of 26 letters that nobody else has; later ones sort behind earlier ones."""
    number = time.time_ns() // 1_000_000 << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))


@dataclass(frozen=True, slots=True)
class Record:
    """`kind` says what happened ("verdict", "gate", "gap", "override", "erasure", …; the set is
    open), `fields` what is to be known of it: each name's value is a tree of JSON. `caller` is who
    asked, `tag` whom or what it is about: either may be erased by its name. `once`: a record of
    this id is written a single time, however often it is offered."""

    kind: str
    fields: Mapping[str, object]
    caller: str = ""
    tag: str = ""
    id: str = field(default_factory=new_id)
    once: bool = False

    def __post_init__(self) -> None:
        for name in (self.kind, *self.fields):
            if not _NAME.match(name) or name == WHO:
                raise ValueError(f"{name!r} is no name for a kind or a field of a record")
