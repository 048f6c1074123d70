"""Quotas: recent usage of callers, counted in the store across processes and restarts.

Time is divided into buckets: one second long for limits per minute, ten minutes long for limits per
day. A bucket counts until all of it has left the window, so no window of that length ever exceeds
the limit.

>>> usage = Usage(database)
>>> usage.take("a1b2…", {"requests_per_minute": 60})
>>> usage.add("a1b2…", {"tokens_per_day": 1e6}, tokens=950, cost=0.002)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, select, text
from sqlalchemy.dialects import postgresql, sqlite

from suffice.log.tables import USAGE
from suffice.sql.database import Database


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window of `seconds`, in buckets of `width` seconds."""

    seconds: int
    width: int


@dataclass(frozen=True, slots=True)
class Over:
    """A limit that is reached, and the seconds until it is free again."""

    name: str
    wait: float


MINUTE, DAY = Window(60, 1), Window(86_400, 600)
COUNTED = {
    "requests_per_minute": ("requests", MINUTE),
    "tokens_per_minute": ("tokens", MINUTE),
    "tokens_per_day": ("tokens", DAY),
    "cost_per_day": ("cost", DAY),
}
"""What each limit counts, and over which window."""
_COUNTS = ("requests", "tokens", "cost")


class Usage:
    """Usage counters of a store. Safe to share between threads. Only the limits passed in are
    counted."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def take(self, principal: str, limits: Mapping[str, float]) -> Over | None:
        """Count a request, or return the limit that is reached. Concurrent requests cannot exceed a
        limit."""
        with self._database.writing() as connection:
            self._alone(connection, principal)
            now = self._clock()
            for window in _windows(limits):
                rows = _lately(connection, principal, window, now)
                for name, most in limits.items():
                    what, of = COUNTED[name]
                    if of is window and (over := _over(rows, what, name, most, window, now)):
                        return over
            self._write(connection, principal, _windows(limits), now, requests=1)
        return None

    def add(self, principal: str, limits: Mapping[str, float], tokens: int, cost: float) -> None:
        """Count the tokens and cost of a request once they are known."""
        spent = {name: limit for name, limit in limits.items() if COUNTED[name][0] != "requests"}
        if spent:
            with self._database.writing() as connection:
                now = self._clock()
                self._write(connection, principal, _windows(spent), now, tokens=tokens, cost=cost)

    def _alone(self, connection: Connection, principal: str) -> None:
        """Serialise requests of a principal; SQLite already allows only one write transaction."""
        if self._database.dialect == "postgresql":
            lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
            connection.execute(lock, {"name": f"suffice usage {principal}"})

    def _write(
        self,
        connection: Connection,
        principal: str,
        windows: Sequence[Window],
        now: float,
        **more: float,
    ) -> None:
        special = postgresql if self._database.dialect == "postgresql" else sqlite
        for window in windows:
            key = {"principal": principal, "width": window.width, "bucket": _bucket(now, window)}
            new: Any = special.insert(USAGE).values({**dict.fromkeys(_COUNTS, 0), **key, **more})
            summed = {name: USAGE.c[name] + new.excluded[name] for name in _COUNTS}
            connection.execute(new.on_conflict_do_update(index_elements=list(key), set_=summed))
            past = USAGE.c.bucket <= now - window.seconds - window.width
            mine = (USAGE.c.principal == principal) & (USAGE.c.width == window.width)
            connection.execute(delete(USAGE).where(mine, past))


def _windows(limits: Mapping[str, float]) -> list[Window]:
    return list(dict.fromkeys(COUNTED[name][1] for name in limits))


def _bucket(now: float, window: Window) -> int:
    return int(now // window.width) * window.width


def _lately(connection: Connection, principal: str, window: Window, now: float) -> Sequence[Any]:
    """The buckets in a window, oldest first."""
    asked = select(USAGE).where(
        USAGE.c.principal == principal,
        USAGE.c.width == window.width,
        USAGE.c.bucket > now - window.seconds - window.width,
    )
    return connection.execute(asked.order_by(USAGE.c.bucket)).all()


def _over(
    rows: Sequence[Any], what: str, name: str, most: float, window: Window, now: float
) -> Over | None:
    """Whether a limit is reached; it is free again once enough of the oldest buckets expired."""
    used = sum(getattr(row, what) for row in rows)
    if used < most:
        return None
    for row in rows:
        used -= getattr(row, what)
        if used < most:
            return Over(name, row.bucket + window.width + window.seconds - now)
    return Over(name, float(window.seconds))
