"""Quotas: recent usage of callers, counted in the store across processes and restarts.

Time is divided into buckets: one second long for limits per minute, ten minutes long for limits per
day, six hours long for limits per month (30 days). A bucket counts until all of it has left the
window, so no window of that length ever exceeds the limit.

>>> usage = Usage(database)
>>> usage.take({"a1b2…": {"requests_per_minute": 60}, "team:hr": {"tokens_per_month": 1e7}})
>>> usage.add({"a1b2…": {"tokens_per_day": 1e6}}, tokens=950, cost=0.002)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from suffice.log.tables import USAGE
from suffice.sql.database import Database
from suffice.sql.toolkit import Connection, delete, select, text
from suffice.sql.upsert import add_counts


@dataclass(frozen=True, slots=True)
class Window:
    """A sliding window of `seconds`, in buckets of `width` seconds."""

    seconds: int
    width: int


@dataclass(frozen=True, slots=True)
class Over:
    """A reached limit: its name, the seconds until requests are allowed again, and its holder."""

    name: str
    wait: float
    holder: str


@dataclass(frozen=True, slots=True)
class Left:
    """What remains of a limit, and the seconds until all of it is available again."""

    name: str
    limit: float
    remaining: float
    reset: float


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a request is admitted (`over` is `None`), and what remains of each limit."""

    over: Over | None = None
    left: tuple[Left, ...] = ()


MINUTE, DAY, MONTH = Window(60, 1), Window(86_400, 600), Window(30 * 86_400, 21_600)
COUNTED = {
    "requests_per_minute": ("requests", MINUTE),
    "requests_per_day": ("requests", DAY),
    "requests_per_month": ("requests", MONTH),
    "tokens_per_minute": ("tokens", MINUTE),
    "tokens_per_day": ("tokens", DAY),
    "tokens_per_month": ("tokens", MONTH),
    "cost_per_day": ("cost", DAY),
    "cost_per_month": ("cost", MONTH),
}
"""What each limit counts, and over which window."""
Quotas = Mapping[str, Mapping[str, float]]
"""The limits by holder: a key id, or `team_holder` of a team."""
_COUNTS = ("requests", "tokens", "cost")
_TEAM = "team:"


def team_holder(team: str) -> str:
    """The name under which a team's usage is counted. Key ids contain no colon."""
    return _TEAM + team


def team_of(holder: str) -> str:
    """The team of a holder; empty if it is a key."""
    return holder.removeprefix(_TEAM) if holder.startswith(_TEAM) else ""


class Usage:
    """Usage counters of a store. Thread-safe. Only the limits passed in are counted."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    def take(self, quotas: Quotas) -> Admission:
        """Count a request for all holders, or for none if a limit of any holder is reached.
        Concurrent requests cannot exceed a limit."""
        with self._database.writing() as connection:
            for holder in sorted(quotas):  # a fixed order prevents deadlocks
                self._alone(connection, holder)
            now = self._clock()
            over: Over | None = None
            used: list[Left] = []
            for holder, limits in sorted(quotas.items()):
                for window in _windows(limits):
                    rows = _lately(connection, holder, window, now)
                    for name, most in limits.items():
                        what, of = COUNTED[name]
                        if of is window:
                            used.append(_left(rows, what, name, most, window, now))
                            over = over or _over(rows, what, name, most, window, now, holder)
            if over is not None:
                return Admission(over, tuple(used))
            for holder, limits in sorted(quotas.items()):
                self._write(connection, holder, _windows(limits), now, requests=1)
        return Admission(None, tuple(_with_this(left) for left in used))

    def add(self, quotas: Quotas, tokens: int, cost: float) -> None:
        """Count the tokens and cost of a request once they are known."""
        spent = {holder: _spendable(limits) for holder, limits in sorted(quotas.items())}
        if any(spent.values()):
            with self._database.writing() as connection:
                now = self._clock()
                for holder, limits in spent.items():
                    windows = _windows(limits)
                    self._write(connection, holder, windows, now, tokens=tokens, cost=cost)

    def _alone(self, connection: Connection, principal: str) -> None:
        """Lock a principal's counters; SQLite already allows only one write transaction."""
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
        for window in windows:
            key = {"principal": principal, "width": window.width, "bucket": _bucket(now, window)}
            add_counts(connection, USAGE, {**dict.fromkeys(_COUNTS, 0), **key, **more})
            past = USAGE.c.bucket <= now - window.seconds - window.width
            mine = (USAGE.c.principal == principal) & (USAGE.c.width == window.width)
            connection.execute(delete(USAGE).where(mine, past))


def _spendable(limits: Mapping[str, float]) -> dict[str, float]:
    return {name: most for name, most in limits.items() if COUNTED[name][0] != "requests"}


def _windows(limits: Mapping[str, float]) -> list[Window]:
    """The windows that these limits use, shortest first."""
    return sorted({COUNTED[name][1] for name in limits}, key=lambda window: window.seconds)


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


def _left(
    rows: Sequence[Any], what: str, name: str, most: float, window: Window, now: float
) -> Left:
    used = sum(getattr(row, what) for row in rows)
    last = max((row.bucket for row in rows if getattr(row, what)), default=None)
    reset = 0.0 if last is None else last + window.width + window.seconds - now
    return Left(name, most, max(most - used, 0.0), reset)


def _with_this(left: Left) -> Left:
    """What is left after the current request."""
    what, window = COUNTED[left.name]
    if what != "requests":
        return left
    return replace(left, remaining=max(left.remaining - 1, 0.0), reset=float(window.seconds))


def _over(
    rows: Sequence[Any],
    what: str,
    name: str,
    most: float,
    window: Window,
    now: float,
    holder: str,
) -> Over | None:
    """The limit if it is reached; it is free again once enough of the oldest buckets expire."""
    used = sum(getattr(row, what) for row in rows)
    if used < most:
        return None
    for row in rows:
        used -= getattr(row, what)
        if used < most:
            return Over(name, row.bucket + window.width + window.seconds - now, holder)
    return Over(name, float(window.seconds), holder)
