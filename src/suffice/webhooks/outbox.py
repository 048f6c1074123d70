"""The outbox: waiting and dead deliveries, kept in the store and shared by all processes.

Deliveries are created from the log. The transaction that creates them also saves each webhook's
position in the log, so a crash neither loses nor repeats an event.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from suffice.errors import StoreError
from suffice.log.entry import Entry, entry_of, find
from suffice.log.seal import head_of
from suffice.log.tables import RECORDS
from suffice.sql.database import Database
from suffice.sql.toolkit import Connection, Row, delete, insert, select, update
from suffice.sql.upsert import upsert
from suffice.webhooks.events import KINDS, event_of
from suffice.webhooks.tables import DELIVERIES, WEBHOOKS

WAITING, DEAD = "waiting", "dead"
_PORTION = 200
Wants = Callable[[str, Entry], bool]
"""Whether a webhook wants an event."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event to be sent to a webhook."""

    id: str
    webhook: str
    event: str
    record: str
    state: str
    attempts: int
    due: float
    created: str
    problem: str


class Outbox:
    """Stores the deliveries. Thread-safe."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def gather(self, webhooks: Mapping[str, Wants]) -> int:
        """Create deliveries from new log records and return the number of records read. A new
        webhook starts with the next record."""
        with self._database.reading() as connection:
            head, known = head_of(connection).sequence, _places(connection)
        behind = [name for name in webhooks if known.get(name, -1) < head]
        return sum(self._gather(name, webhooks[name]) for name in behind)

    def _gather(self, name: str, wants: Wants) -> int:
        with self._database.writing() as connection:
            head = head_of(connection).sequence
            new = upsert(connection, WEBHOOKS).values(name=name, sequence=head)
            connection.execute(new.on_conflict_do_nothing())
            chosen = select(WEBHOOKS.c.sequence).where(WEBHOOKS.c.name == name)
            place = int(connection.execute(chosen.with_for_update()).scalar_one())
            after = select(RECORDS).where(RECORDS.c.sequence > place)
            rows = connection.execute(after.order_by(RECORDS.c.sequence).limit(_PORTION)).all()
            events = [entry_of(row) for row in rows if row.kind in KINDS]
            found = [(entry, event_of(entry)) for entry in events]
            made = [self._row(name, one, event) for one, event in found if wants(event, one)]
            if made:
                connection.execute(insert(DELIVERIES), made)
            if rows:
                moved = update(WEBHOOKS).where(WEBHOOKS.c.name == name)
                connection.execute(moved.values(sequence=rows[-1].sequence))
            return len(rows)

    def _row(self, name: str, entry: Entry, event: str) -> dict[str, Any]:
        return {
            "id": hashlib.sha256(f"{name}\n{entry.id}\n{event}".encode()).hexdigest()[:32],
            "webhook": name,
            "event": event,
            "record": entry.id,
            "state": WAITING,
            "attempts": 0,
            "due": self._clock(),
            "created": entry.time,
            "problem": "",
        }

    def claim(self, webhooks: Collection[str], seconds: float) -> Delivery | None:
        """Claim the delivery that has been due the longest. If this process dies, another process
        can claim it after `seconds`."""
        table, now = DELIVERIES.c, self._clock()
        due = (table.state == WAITING, table.due <= now, table.webhook.in_(list(webhooks)))
        with self._database.reading() as connection:
            if connection.execute(select(table.id).where(*due).limit(1)).first() is None:
                return None
        with self._database.writing() as connection:
            first = select(DELIVERIES).where(*due).order_by(table.due).limit(1)
            row = connection.execute(first.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            taken = update(DELIVERIES).where(table.id == row.id).values(due=now + seconds)
            connection.execute(taken)
            return _delivery(row)

    def entry(self, delivery: Delivery) -> Entry:
        with self._database.reading() as connection:
            return find(connection, delivery.record)

    def delivered(self, delivery: Delivery) -> None:
        with self._database.writing() as connection:
            connection.execute(delete(DELIVERIES).where(DELIVERIES.c.id == delivery.id))

    def failed(self, delivery: Delivery, problem: str, wait: float | None) -> None:
        """Schedule a retry in `wait` seconds, or mark the delivery as dead if `wait` is `None`."""
        values = {
            "attempts": delivery.attempts + 1,
            "problem": problem[:500],
            "state": DEAD if wait is None else WAITING,
            "due": self._clock() + (wait or 0),
        }
        with self._database.writing() as connection:
            changed = update(DELIVERIES).where(DELIVERIES.c.id == delivery.id)
            connection.execute(changed.values(values))

    def list(self, state: str = "", most: int = 100) -> list[Delivery]:
        """Waiting and dead deliveries, oldest first."""
        chosen = select(DELIVERIES).order_by(DELIVERIES.c.created).limit(most)
        if state:
            chosen = chosen.where(DELIVERIES.c.state == state)
        with self._database.reading() as connection:
            return [_delivery(row) for row in connection.execute(chosen)]

    def retry(self, ids: Collection[str] = ()) -> int:
        """Make the given dead deliveries, or all of them, due now. Return their number."""
        chosen = update(DELIVERIES).where(DELIVERIES.c.state == DEAD)
        if ids:
            chosen = chosen.where(DELIVERIES.c.id.in_(list(ids)))
        values = {"state": WAITING, "attempts": 0, "due": self._clock()}
        with self._database.writing() as connection:
            done = connection.execute(chosen.values(values)).rowcount
            if ids and done < len(set(ids)):
                raise StoreError(
                    "Some of these ids are not ids of dead deliveries. Nothing was changed.",
                    remedy="To list them, run: suffice webhooks list --state dead",
                )
            return int(done)


def _places(connection: Connection) -> dict[str, int]:
    return {row.name: row.sequence for row in connection.execute(select(WEBHOOKS))}


def _delivery(row: Row[Any]) -> Delivery:
    return Delivery(
        row.id,
        row.webhook,
        row.event,
        row.record,
        row.state,
        row.attempts,
        row.due,
        row.created,
        row.problem,
    )
