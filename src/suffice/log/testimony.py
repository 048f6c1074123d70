"""Compares a log with checkpoints, to detect a rebuilt or truncated tail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suffice.log.breaks import Faults
from suffice.log.checkpoints.checkpoint import Checkpoint
from suffice.log.checkpoints.signing_keys import genuine
from suffice.log.seal import Head
from suffice.log.tables import RECORDS
from suffice.sql.toolkit import Connection, select

_PORTION = 500


@dataclass(frozen=True, slots=True)
class Testimony:
    """Checkpoints and the public key that must have signed them (empty: the key each names)."""

    checkpoints: Sequence[Checkpoint] = ()
    key: str = ""


def hold_against(
    connection: Connection, head: Head, last: int, testimony: Testimony, faults: Faults
) -> None:
    """Compare the log with checkpoints, oldest first. A change happened between the last checkpoint
    that agrees and the first that does not."""
    agreed = 0
    valid = [
        point for point in testimony.checkpoints if _genuine(point, head, testimony.key, faults)
    ]
    for point, link in _links(connection, valid):
        if link == point.link:
            agreed = max(agreed, point.sequence)
            continue
        after = f"after record {agreed}" if agreed else "from the first record on"
        if link is None and point.sequence > last:
            detail = f"the log was truncated; its last record was {point.sequence}"
        elif link is None:
            detail = f"record {point.sequence} existed and is now missing"
        else:
            detail = f"the chain was rebuilt {after}, at or before record {point.sequence}"
        at = last + 1 if point.sequence > last else agreed + 1
        faults.add("checkpoint", at, "", f"According to the checkpoint of {point.time}, {detail}.")


def _genuine(point: Checkpoint, head: Head, key: str, faults: Faults) -> bool:
    if point.log != head.log:
        message = f"The checkpoint of {point.time} belongs to another log."
    elif key and point.key != key:
        message = f"The checkpoint of {point.time} was signed with another key."
    elif not genuine(point):
        message = f"The signature of the checkpoint of {point.time} is invalid."
    else:
        return True
    faults.add("checkpoint", point.sequence, "", message)
    return False


def _links(
    connection: Connection, points: Sequence[Checkpoint]
) -> Iterator[tuple[Checkpoint, str | None]]:
    ordered = sorted(points, key=lambda point: point.sequence)
    for start in range(0, len(ordered), _PORTION):
        portion = ordered[start : start + _PORTION]
        asked = select(RECORDS.c.sequence, RECORDS.c.link).where(
            RECORDS.c.sequence.in_([point.sequence for point in portion])
        )
        found = {row.sequence: row.link for row in connection.execute(asked)}
        for point in portion:
            yield point, found.get(point.sequence)
