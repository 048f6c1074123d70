"""Quotas and usage: what callers used recently and in total, counted across processes.

Time is divided into buckets: one second long for limits per minute, ten minutes long for limits per
day, six hours long for limits per month (30 days). A bucket counts until all of it has left the
window, so no window of that length ever exceeds the limit.

>>> usage = Usage(database)
>>> usage.take({"a1b2…": {"requests_per_minute": 60}, "team:hr": {"tokens_per_month": 1e7}})
>>> usage.add({"a1b2…": {"tokens_per_day": 1e6}}, tokens=950, cost=0.002)
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from suffice.errors import StoreError
from suffice.log.chain import Clock, now, timestamp
from suffice.log.tables import USAGE, USAGE_TOTALS
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.sql.statements import add_counts
from suffice.text.storable import is_storable


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
            left: list[Left] = []
            for holder, limits in sorted(quotas.items()):
                for use in _uses(connection, holder, limits, now):
                    left.append(use.left)
                    over = over or use.over(holder)
            if over is not None:
                return Admission(over, tuple(left))
            for holder, limits in sorted(quotas.items()):
                self._write(connection, holder, _windows(limits), now, requests=1)
        return Admission(None, tuple(map(_with_this, left)))

    def add(self, quotas: Quotas, tokens: int, cost: float) -> None:
        """Count the tokens and cost of a request once they are known."""
        spent = {holder: _spendable(limits) for holder, limits in sorted(quotas.items())}
        if any(spent.values()):
            with self._database.writing() as connection:
                now = self._clock()
                for holder, limits in spent.items():
                    windows = _windows(limits)
                    self._write(connection, holder, windows, now, tokens=tokens, cost=cost)

    def _alone(self, connection: sa.Connection, principal: str) -> None:
        """Lock a principal's counters; SQLite already allows only one write transaction."""
        if self._database.dialect == "postgresql":
            lock = sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")
            connection.execute(lock, {"name": f"suffice usage {principal}"})

    def _write(
        self,
        connection: sa.Connection,
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
            connection.execute(sa.delete(USAGE).where(mine, past))


def _spendable(limits: Mapping[str, float]) -> dict[str, float]:
    return {name: most for name, most in limits.items() if COUNTED[name][0] != "requests"}


def _windows(limits: Mapping[str, float]) -> list[Window]:
    """The windows that these limits use, shortest first."""
    return sorted({COUNTED[name][1] for name in limits}, key=lambda window: window.seconds)


def _bucket(now: float, window: Window) -> int:
    return int(now // window.width) * window.width


@dataclass(frozen=True, slots=True)
class _Use:
    """What was used of one limit: amounts by bucket, oldest first."""

    limit: str
    most: float
    amounts: Sequence[tuple[int, float]]
    now: float

    @property
    def left(self) -> Left:
        used = sum(amount for _, amount in self.amounts)
        last = max((bucket for bucket, amount in self.amounts if amount), default=None)
        reset = 0.0 if last is None else self._expires(last)
        return Left(self.limit, self.most, max(self.most - used, 0.0), reset)

    def over(self, holder: str) -> Over | None:
        """The limit if it is reached; it is free again once enough of the oldest buckets expire."""
        used = sum(amount for _, amount in self.amounts)
        if used < self.most:
            return None
        for bucket, amount in self.amounts:
            used -= amount
            if used < self.most:
                return Over(self.limit, self._expires(bucket), holder)
        return Over(self.limit, float(COUNTED[self.limit][1].seconds), holder)

    def _expires(self, bucket: int) -> float:
        """Seconds until a bucket has left the window."""
        window = COUNTED[self.limit][1]
        return bucket + window.width + window.seconds - self.now


def _uses(
    connection: sa.Connection, holder: str, limits: Mapping[str, float], now: float
) -> Iterator[_Use]:
    """The use of each limit, shortest window first."""
    for window in _windows(limits):
        query = sa.select(USAGE).where(
            USAGE.c.principal == holder,
            USAGE.c.width == window.width,
            USAGE.c.bucket > now - window.seconds - window.width,
        )
        rows = connection.execute(query.order_by(USAGE.c.bucket)).all()
        for name, most in limits.items():
            what, counted_in = COUNTED[name]
            if counted_in is window:
                yield _Use(name, most, [(row.bucket, getattr(row, what)) for row in rows], now)


def _with_this(left: Left) -> Left:
    """What is left after the current request."""
    what, window = COUNTED[left.name]
    if what != "requests":
        return left
    return replace(left, remaining=max(left.remaining - 1, 0.0), reset=float(window.seconds))


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


def _merge(connection: sa.Connection, rows: list[dict[str, Any]]) -> None:
    """Add rows to the stored totals."""
    # A fixed order prevents deadlocks.
    for row in sorted(rows, key=lambda row: [row[name] for name in _KEY]):
        add_counts(connection, USAGE_TOTALS, row)


def _row(value: UsedBy | Totals) -> dict[str, Any]:
    values = {field.name: getattr(value, field.name) for field in fields(value)}
    # A model name comes from a client; PostgreSQL cannot store every text.
    return {
        name: item if not isinstance(item, str) or is_storable(item) else "?"
        for name, item in values.items()
    }


def usage_report(
    database: Database, by: str, since: str = "", until: str = ""
) -> list[tuple[str, Totals]]:
    """The totals by dimension, most requests first, from `since` up to but excluding `until`."""
    column = USAGE_TOTALS.c[DIMENSIONS[by]]
    query = sa.select(column, *(sa.func.sum(USAGE_TOTALS.c[name]).label(name) for name in COUNTS))
    if since:
        query = query.where(USAGE_TOTALS.c.day >= since)
    if until:
        query = query.where(USAGE_TOTALS.c.day < until)
    query = query.group_by(column).order_by(sa.func.sum(USAGE_TOTALS.c.requests).desc(), column)
    with database.reading() as connection:
        rows = connection.execute(query).all()
    # PostgreSQL returns sums as decimals.
    return [
        (row[0], Totals(*(_number(name, row._mapping[name]) for name in COUNTS))) for row in rows
    ]


def forget_user(database: Database, name: str) -> None:
    """Remove an end user's name from the totals; the counts stay, without a name."""
    if not name or not is_storable(name):
        return
    named = USAGE_TOTALS.c.end_user == name
    with database.writing() as connection:
        rows = connection.execute(sa.select(USAGE_TOTALS).where(named)).mappings().all()
        connection.execute(sa.delete(USAGE_TOTALS).where(named))
        _merge(connection, [{**row, "end_user": ""} for row in rows])


def _number(name: str, value: Any) -> Any:
    return float(value) if name == "cost" else int(value)
