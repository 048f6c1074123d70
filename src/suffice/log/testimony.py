"""What checkpoints say of a log: a tail that was rebuilt or cut off is seen up to the last one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from suffice.log.breaks import Faults
from suffice.log.checkpoints.checkpoint import Checkpoint
from suffice.log.checkpoints.signing_keys import genuine
from suffice.log.seal import Head
from suffice.log.tables import RECORDS

_PORTION = 500


@dataclass(frozen=True, slots=True)
class Testimony:
    """Checkpoints, and the public key that has to have signed them (empty: the one each names)."""

    checkpoints: Sequence[Checkpoint] = ()
    key: str = ""


def hold_against(
    connection: Connection, head: Head, last: int, testimony: Testimony, faults: Faults
) -> None:
    """Holds the log against checkpoints, oldest first; between the last that agrees and the first
    that does not lies what was changed."""
    agreed = 0
    genuine_ones = [
        one for one in testimony.checkpoints if _genuine(one, head, testimony.key, faults)
    ]
    for point, link in _links(connection, genuine_ones):
        if link == point.link:
            agreed = max(agreed, point.sequence)
            continue
        after = f"after record {agreed}" if agreed else "from the first record on"
        if link is None and point.sequence > last:
            said = f"the log was cut off: it ended with record {point.sequence} at {point.time}"
        elif link is None:
            said = f"record {point.sequence}, which was there at {point.time}, is missing"
        else:
            said = f"the chain was rebuilt {after}, at or before record {point.sequence}"
        at = last + 1 if point.sequence > last else agreed + 1
        faults.add("checkpoint", at, "", f"By the checkpoint of {point.time} {said}.")


def _genuine(point: Checkpoint, head: Head, key: str, faults: Faults) -> bool:
    if point.log != head.log:
        said = f"The checkpoint of {point.time} is one of another log."
    elif key and point.key != key:
        said = f"The checkpoint of {point.time} was signed with another key."
    elif not genuine(point):
        said = f"The signature of the checkpoint of {point.time} does not fit it."
    else:
        return True
    faults.add("checkpoint", point.sequence, "", said)
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
