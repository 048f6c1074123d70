"""The chain: each record's link is the hash of the link before it and of all that it says.

    link = sha256(previous link, sequence, id, time, clock, kind, root, seal; a line each)

The link before the first record is the hash of the log's own id, so that no two logs share a chain.
"""

from __future__ import annotations

import hashlib

from suffice.log.canonical import ALGORITHM, digest

FORMAT = "suffice record 1"
_TAG = f"{ALGORITHM}:".encode()


def genesis(log: str) -> bytes:
    """What stands before the first record of a log."""
    return digest(f"{FORMAT}\n{log}".encode()).encode()


def link_of(
    previous: bytes, sequence: int, id: str, time: str, clock: str, kind: str, root: str, seal: str
) -> bytes:
    """A record's link. `clock` is what the clock said where it ran behind the record before; then
    `time` is that record's."""
    return link_over(previous, sequence, "\n".join((id, time, clock, kind, root, seal)).encode())


def link_over(previous: bytes, sequence: int, said: bytes) -> bytes:
    """The same, of what is already in lines."""
    text = b"%b\n%d\n%b" % (previous, sequence, said)
    return _TAG + hashlib.sha256(text).hexdigest().encode()
