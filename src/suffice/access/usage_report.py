"""Usage totals by day, key, team, end user and model: the data of `suffice usage`.

Totals are collected in memory and written together about once a second, so that a request does not
wait for them. A crash loses that second of the report; limits are counted elsewhere (`quotas.py`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from suffice.errors import StoreError
from suffice.log.moment import Clock, now, timestamp
from suffice.log.tables import USAGE_TOTALS
from suffice.sql.database import Database
from suffice.sql.storable import is_storable
from suffice.sql.toolkit import Connection, delete, func, select
from suffice.sql.upsert import add_counts

log = logging.getLogger("suffice.access")
_PAUSE = 1.0
_MOST = 10_000
"""Most totals kept in memory while the store fails; further ones are dropped."""
DIMENSIONS = {"key": "caller", "team": "team", "user": "end_user", "model": "model"}
"""The dimensions by which a report can be grouped, each with its column."""


@dataclass(frozen=True, slots=True)
class UsedBy:
    """The names of a key, its team, the end user and the model; each may be empty."""

    caller: str
    team: str = ""
    end_user: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Totals:
    """Usage. `errors` counts requests answered with a status of 400 or more."""

    requests: int = 0
    errors: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    serve: int = 0
    caveat: int = 0
    conflict: int = 0
    withhold: int = 0
    review: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(*(getattr(self, name) + getattr(other, name) for name in COUNTS))


COUNTS = tuple(field.name for field in fields(Totals))
_KEY = ("day", "caller", "team", "end_user", "model")


class Ledger:
    """Collects totals and writes them to the store. Safe across threads and processes."""

    def __init__(self, database: Database, clock: Clock = now, pause: float = _PAUSE) -> None:
        self._database = database
        self._clock = clock
        self._pause = pause
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, UsedBy], Totals] = {}
        self._timer: threading.Timer | None = None
        self._closed = False

    def add(self, by: UsedBy, used: Totals) -> None:
        """Add the usage of a request."""
        key = (timestamp(self._clock())[:10], by)
        with self._lock:
            if key in self._pending or len(self._pending) < _MOST:
                self._pending[key] = self._pending.get(key, Totals()) + used
            self._later()

    def flush(self) -> None:
        """Write everything collected so far. If the store fails, keep it for the next attempt."""
        with self._lock:
            taken, self._pending = self._pending, {}
            self._timer = None
        if not taken:
            return
        try:
            self._write(taken)
        except StoreError as problem:
            log.warning("Usage could not be added to the report: %s", problem)
            with self._lock:
                for key, used in taken.items():
                    self._pending[key] = used + self._pending.get(key, Totals())
                self._later()

    def close(self) -> None:
        """Write the remaining totals."""
        with self._lock:
            self._closed = True
            if self._timer is not None:
                self._timer.cancel()
        self.flush()

    def _later(self) -> None:
        if self._timer is None and not self._closed:
            self._timer = threading.Timer(self._pause, self.flush)
            self._timer.daemon = True
            self._timer.start()

    def _write(self, taken: Mapping[tuple[str, UsedBy], Totals]) -> None:
        rows = [{"day": day, **_row(by), **_row(used)} for (day, by), used in taken.items()]
        with self._database.writing() as connection:
            _merge(connection, rows)


def _merge(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Add rows to the stored totals."""
    # A fixed order prevents deadlocks.
    for row in sorted(rows, key=lambda row: [row[name] for name in _KEY]):
        add_counts(connection, USAGE_TOTALS, row)


def _row(value: UsedBy | Totals) -> dict[str, Any]:
    found = {field.name: getattr(value, field.name) for field in fields(value)}
    # A model name comes from a client; PostgreSQL cannot store every text.
    return {
        name: one if not isinstance(one, str) or is_storable(one) else "?"
        for name, one in found.items()
    }


def usage_report(
    database: Database, by: str, since: str = "", until: str = ""
) -> list[tuple[str, Totals]]:
    """The totals by dimension, most requests first, from `since` up to but excluding `until`."""
    column = USAGE_TOTALS.c[DIMENSIONS[by]]
    asked = select(column, *(func.sum(USAGE_TOTALS.c[name]).label(name) for name in COUNTS))
    if since:
        asked = asked.where(USAGE_TOTALS.c.day >= since)
    if until:
        asked = asked.where(USAGE_TOTALS.c.day < until)
    asked = asked.group_by(column).order_by(func.sum(USAGE_TOTALS.c.requests).desc(), column)
    with database.reading() as connection:
        found = connection.execute(asked).all()
    # PostgreSQL returns sums as decimals.
    return [
        (row[0], Totals(*(_number(name, row._mapping[name]) for name in COUNTS))) for row in found
    ]


def forget_user(database: Database, name: str) -> None:
    """Remove an end user's name from the totals; the counts stay, without a name."""
    if not name or not is_storable(name):
        return
    named = USAGE_TOTALS.c.end_user == name
    with database.writing() as connection:
        rows = connection.execute(select(USAGE_TOTALS).where(named)).mappings().all()
        connection.execute(delete(USAGE_TOTALS).where(named))
        _merge(connection, [{**row, "end_user": ""} for row in rows])


def _number(name: str, value: Any) -> Any:
    return float(value) if name == "cost" else int(value)
