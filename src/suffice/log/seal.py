"""Sealing: a group of records becomes the next links of the chain, in one transaction.

The head row is held while that happens, so that any number of processes keep one chain.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, bindparam, insert, select, update

from suffice.errors import StoreDamaged
from suffice.log.chain import genesis, link_of
from suffice.log.moment import read, written
from suffice.log.prepare import Prepared
from suffice.log.tables import HEAD, RECORDS

# Made once: to put a statement together takes longer than to run it.
_HEAD = select(HEAD).where(HEAD.c.id == 1)
_APPEND = insert(RECORDS)
_MOVE = (
    update(HEAD)
    .where(HEAD.c.id == 1)
    .values({name: bindparam(f"new_{name}") for name in ("sequence", "link", "time")})
)
_SKEW = timedelta(seconds=1)
"""Clocks of several machines differ by so much without anything being wrong."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where a log stands: its last record, and the last one that a checkpoint was written of."""

    log: str
    sequence: int
    link: str
    time: str
    checkpoint: int
    checkpoint_time: str


def head_of(connection: Connection, *, hold: bool = False) -> Head:
    """`hold`: nobody else appends until the transaction ends."""
    row = connection.execute(_HEAD.with_for_update() if hold else _HEAD).first()
    if row is None:
        raise StoreDamaged(
            "The head of the log is gone, so that nothing can be appended to it.",
            remedy="Run: suffice audit verify, and restore the store from a copy.",
        )
    head = Head(row.log, row.sequence, row.link, row.time, row.checkpoint, row.checkpoint_time)
    return head if head.sequence else Head(head.log, 0, genesis(head.log).decode(), "", 0, "")


def seal(connection: Connection, group: Sequence[Prepared], now: datetime) -> Head:
    """Appends a group, in its order; what is to be there once, and is, is left out."""
    head = head_of(connection, hold=True)
    time, clock = _moment(head, now)
    there = _there(connection, [one.id for one in group if one.once])
    link, sequence = head.link.encode(), head.sequence
    rows = []
    for one in group:
        if one.id in there:
            continue
        sequence += 1
        root, sealed = one.payload.root, one.payload.seal
        link = link_of(link, sequence, one.id, time, clock, one.kind, root, sealed)
        rows.append(
            {
                "sequence": sequence,
                "id": one.id,
                "time": time,
                "clock": clock,
                "kind": one.kind,
                "caller": one.caller,
                "tag": one.tag,
                "root": root,
                "seal": sealed,
                "link": link.decode(),
                "payload": one.payload.text,
            }
        )
        there |= {one.id} if one.once else set()
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
    """The time of the next records. A clock that ran back does not take the log's time with it;
    what it said is kept."""
    time = written(now)
    if time >= head.time:
        return time, ""
    behind = read(head.time) - now
    return head.time, time if behind > _SKEW else ""
