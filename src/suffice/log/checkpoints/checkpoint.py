"""A checkpoint: where the log stood at a time, signed, to be kept where the log's keeper cannot
reach it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import asdict, dataclass
from typing import Any

from suffice.errors import StoreError
from suffice.log.canonical import canonical, read


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`count` records, the last of which is `sequence` with its `link`. The signature is over the
    canonical form of all else."""

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
        """What the signature is over."""
        said = asdict(self)
        del said["signature"]
        return canonical(said).encode()

    def text(self) -> str:
        """One line of JSON."""
        return canonical(asdict(self))


def checkpoint_of(raw: Any, origin: str) -> Checkpoint:
    """A checkpoint from JSON, or a clear word on why it is none."""
    try:
        if isinstance(raw, str):
            raw = read(raw)
        found = Checkpoint(**raw)
        whole = isinstance(found.sequence, int) and isinstance(found.count, int)
        if not whole or not all(
            isinstance(part, str)
            for part in (found.log, found.link, found.time, found.key, found.signature)
        ):
            raise TypeError("a part of it is of another type")
        return found
    except (ValueError, TypeError) as problem:
        raise StoreError(
            f"{origin} holds something that is no checkpoint: {problem}.",
            remedy="Name what `suffice audit checkpoint` wrote.",
        ) from problem


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return b""
