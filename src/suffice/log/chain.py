"""The hash chain: each record's link hashes the previous link and the record's own columns.

    link = sha256(previous link, sequence, id, time, clock, kind, root, seal; one per line)

The link before the first record is derived from the log's id, so no two logs share a chain.
"""

from __future__ import annotations

import hashlib

from suffice.log.canonical import ALGORITHM, digest

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
