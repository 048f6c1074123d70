"""Sealing: appends a group of records to the chain in one transaction.

The transaction locks the head row, so any number of processes can append to one chain.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from suffice.errors import StoreDamaged
from suffice.log.chain import genesis, link_of
from suffice.log.moment import read, timestamp
from suffice.log.prepare import Prepared
from suffice.log.tables import HEAD, RECORDS
from suffice.sql.toolkit import Connection, bindparam, insert, select, update

# Built once: building a statement takes longer than running it.
_HEAD = select(HEAD).where(HEAD.c.id == 1)
_APPEND = insert(RECORDS)
_MOVE = (
    update(HEAD)
    .where(HEAD.c.id == 1)
    .values({name: bindparam(f"new_{name}") for name in ("sequence", "link", "time")})
)
_SKEW = timedelta(seconds=1)
"""The tolerated clock difference between machines."""
_WRONG = timedelta(minutes=10)
"""A larger difference is no difference between machines: the log's last time is wrong, because a
clock had jumped forward, or this clock is."""


@dataclass(frozen=True, slots=True)
class Head:
    """The state of a log: its last record, and the last record covered by a checkpoint."""

    log: str
    sequence: int
    link: str
    time: str
    checkpoint: int
    checkpoint_time: str


def head_of(connection: Connection, *, hold: bool = False) -> Head:
    """Read the head; `hold` blocks other appends until the transaction ends."""
    row = connection.execute(_HEAD.with_for_update() if hold else _HEAD).first()
    if row is None:
        raise StoreDamaged(
            "The head row of the log is missing, so no record can be appended.",
            remedy="Run suffice audit verify, and restore the store from a backup.",
        )
    head = Head(row.log, row.sequence, row.link, row.time, row.checkpoint, row.checkpoint_time)
    return head if head.sequence else Head(head.log, 0, genesis(head.log).decode(), "", 0, "")


def seal(connection: Connection, group: Sequence[Prepared], now: datetime) -> Head:
    """Append a group of records in order, skipping `once` records that already exist."""
    head = head_of(connection, hold=True)
    time, clock = _moment(head, now)
    there = _there(connection, [record.id for record in group if record.once])
    link, sequence = head.link.encode(), head.sequence
    rows = []
    for record in group:
        if record.id in there:
            continue
        sequence += 1
        root, sealed = record.payload.root, record.payload.seal
        link = link_of(link, sequence, record.id, time, clock, record.kind, root, sealed)
        rows.append(
            {
                "sequence": sequence,
                "id": record.id,
                "time": time,
                "clock": clock,
                "kind": record.kind,
                "caller": record.caller,
                "tag": record.tag,
                "root": root,
                "seal": sealed,
                "link": link.decode(),
                "payload": record.payload.text,
            }
        )
        there |= {record.id} if record.once else set()
    if not rows:
        return head
    connection.execute(_APPEND, rows)
    connection.execute(
        _MOVE, {"new_sequence": sequence, "new_link": link.decode(), "new_time": time}
    )
    return Head(head.log, sequence, link.decode(), time, head.checkpoint, head.checkpoint_time)


def _there(connection: Connection, ids: Collection[str]) -> set[str]:
    if not ids:
        return set()
    return set(connection.scalars(select(RECORDS.c.id).where(RECORDS.c.id.in_(ids))))


def _moment(head: Head, now: datetime) -> tuple[str, str]:
    """The timestamp of the next records, and the clock reading if the clock is behind the log by
    more than the tolerance. The timestamp goes back only where a clock was wrong, and then equals
    the clock reading, so that a verification can report the place."""
    time = timestamp(now)
    if time >= head.time:
        return time, ""
    behind = read(head.time) - now
    if behind > _WRONG:
        return time, time
    return head.time, time if behind > _SKEW else ""
