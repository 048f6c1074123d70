"""A checkpoint: the signed state of the log at one time, to be stored where those who can write to
the log cannot change it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import asdict, dataclass
from typing import Any

from suffice.errors import StoreError
from suffice.log.canonical import canonical, read


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a log with `count` records, the last being `sequence` with its `link`. The
    signature covers the canonical form of all other fields."""

    log: str
    sequence: int
    link: str
    time: str
    count: int
    key: str
    """The public key: "ed25519:…" in base 64."""
    signature: str = ""

    @property
    def signed(self) -> bytes:
        """The bytes covered by the signature."""
        fields = asdict(self)
        del fields["signature"]
        return canonical(fields).encode()

    def text(self) -> str:
        """One line of JSON."""
        return canonical(asdict(self))


def checkpoint_of(raw: Any, origin: str) -> Checkpoint:
    """Parse a checkpoint from JSON; `origin` names the source in errors."""
    try:
        if isinstance(raw, str):
            raw = read(raw)
        found = Checkpoint(**raw)
        whole = isinstance(found.sequence, int) and isinstance(found.count, int)
        if not whole or not all(
            isinstance(part, str)
            for part in (found.log, found.link, found.time, found.key, found.signature)
        ):
            raise TypeError("a field has the wrong type")
        return found
    except (ValueError, TypeError) as problem:
        raise StoreError(
            f"{origin} contains data that is not a valid checkpoint: {problem}.",
            remedy="Use the output of suffice audit checkpoint.",
        ) from problem


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
