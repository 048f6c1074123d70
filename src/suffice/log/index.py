"""The index of decisions: a follower of the log that makes decisions quick to filter and count."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from suffice.errors import StoreError
from suffice.log.decision import GATE, VERDICT, subject_of
from suffice.log.follower import Cursor, Follower, hold_cursors, write_cursor
from suffice.log.record import UNREADABLE, Entry, values
from suffice.log.tables import (
    DECISIONS,
    SCOPES,
    SOURCES,
    TALLIES,
    USES,
)
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.sql.statements import upsert
from suffice.text.storable import replace_unstorable

ONLY_GATE = "GATE"
"""The action of a gate decision without a verdict."""
UNKNOWN = 0
"""The id of the scope of decisions whose passages are not stored."""
_FIELDS = ("question", "passages", "evidence", "gate", "released", "outcome", "timings")
_DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Used:
    """A document version that a decision counted as evidence, and whether the answer cites it."""

    collection: str
    document: str
    version: str
    access: tuple[str, ...]
    cited: bool = False

    @property
    def access_text(self) -> str:
        return json.dumps(self.access)

    @property
    def id(self) -> int:
        return _number(self.collection, self.document, self.version, self.access_text)


@dataclass(frozen=True, slots=True)
class Digest:
    """A summary of a decision. `scope` holds the collections and labels of its passages as JSON, or
    `null` if they are not stored; `timings` are the seconds of each stage."""

    sequence: int
    id: str
    time: str
    action: str
    level: str
    caller: str
    scope: str
    question: str = ""
    released: str = ""
    confidence: float | None = None
    timings: tuple[tuple[str, float], ...] = ()
    uses: tuple[Used, ...] = ()

    @property
    def seconds(self) -> float | None:
        return dict(self.timings).get("total")

    @property
    def scope_id(self) -> int:
        return scope_id(self.scope)


def digest(entry: Entry) -> Digest:
    """The digest of a verdict or gate record. Fields that are not stored are left empty. The log
    stores any text in escaped form; here, what a database cannot store is replaced."""
    fields: dict[str, Any] = values(entry.payload, _FIELDS)
    gate, outcome = fields.get("gate") or {}, fields.get("outcome") or {}
    passages: Sequence[Mapping[str, Any]] | None = fields.get("passages")
    timings = ((_text(stage), _finite(spent)) for stage, spent in fields.get("timings") or ())
    return Digest(
        entry.sequence,
        entry.id,
        entry.time,
        ONLY_GATE if entry.kind == GATE else _text(outcome.get("action")),
        _text(gate.get("level")),
        entry.caller,
        scope_of(passages),
        _text(fields.get("question")),
        _text(fields.get("released")),
        _finite(outcome.get("confidence")),
        tuple((stage, spent) for stage, spent in timings if spent is not None),
        tuple(_uses(passages or (), fields.get("evidence") or {}, outcome)),
    )


def scope_of(passages: Sequence[Mapping[str, Any]] | None) -> str:
    """The collections and labels of passages, each pair once, as JSON."""
    if passages is None:
        return "null"
    pairs = {
        (_collection(passage), tuple(sorted(passage.get("access", ())))) for passage in passages
    }
    return json.dumps(sorted(pairs))


def scope_id(scope: str) -> int:
    return UNKNOWN if scope == "null" else _number(scope)


def _uses(
    passages: Sequence[Mapping[str, Any]], evidence: Mapping[str, Any], outcome: Mapping[str, Any]
) -> Iterator[Used]:
    """The document versions used, without duplicates and without passages that the caller
    supplied."""
    cited = {citation.get("passage") for citation in outcome.get("citations", ())}
    counted = [item.get("passage") for item in (evidence.get("counted") or {}).get("items", ())]
    is_cited: dict[tuple[str, str, str, tuple[str, ...]], bool] = {}
    for number in dict.fromkeys([*counted, *cited]):
        if not isinstance(number, int) or not 0 <= number < len(passages):
            continue
        passage = passages[number]
        if passage.get("carried"):
            continue
        version, access = _text(passage.get("version")), tuple(sorted(passage.get("access", ())))
        key = (_text(_collection(passage)), _text(passage.get("document")), version, access)
        is_cited[key] = is_cited.get(key, False) or number in cited
    for key, cites in is_cited.items():
        yield Used(*key, cites)


def _collection(passage: Mapping[str, Any]) -> str:
    return str(passage.get("collection", _DEFAULT))


def _text(value: object) -> str:
    return "" if value is None else replace_unstorable(str(value))


def _finite(value: Any) -> float | None:
    """The number, or `None` if there is none: the log stores a float that is not finite as text."""
    number = None if value is None else float(value)
    return number if number is not None and math.isfinite(number) else None


def _number(*parts: str) -> int:
    """A digest as a positive number of 63 bits, the same in every process."""
    hashed = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(hashed[:8], "big") >> 1


HOUR, DAY = 3_600, 86_400
HOURS_KEPT = 15
"""Days for which the tallies by hour are kept."""

Tally = tuple[str, int, float]
"""Name, count and sum."""
Tallies = Callable[[Entry, Digest | None], Iterable[Tally]]
"""What a record adds to the tallies; the digest is `None` if it is not a decision."""


@dataclass(frozen=True, slots=True)
class Portion:
    """What some consecutive records add to the index."""

    digests: tuple[Digest, ...]
    tallies: Mapping[tuple[str, int, str], tuple[int, float]]
    """Count and sum by hour, scope and name."""


@dataclass(frozen=True, slots=True)
class DecisionIndex(Follower[Portion]):
    """The index of one log. `tallied` are further kinds of records about decisions that `tallies`
    counts."""

    database: Database
    tallies: Tallies = lambda entry, found: ()
    tallied: frozenset[str] = frozenset()

    name = "decisions"

    def rebuild(self) -> None:
        """Empty the index and build it again."""
        with self.database.writing() as connection:
            hold_cursors(connection)
            for table in (DECISIONS, SOURCES, USES, TALLIES):
                connection.execute(sa.delete(table))
            write_cursor(connection, self.name, Cursor())
        self.catch_up()

    def read(
        self, connection: sa.Connection, cursor: Cursor, entries: Sequence[Entry]
    ) -> Portion | None:
        digests: dict[str, Digest] = {}
        sums: dict[tuple[str, int, str], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
        for entry in entries:
            decision = _digest(entry) if entry.kind in (VERDICT, GATE) else None
            if decision is not None:
                digests[entry.id] = decision
                scope = decision.scope_id
            elif entry.kind in self.tallied:
                scope = _scope(connection, digests, subject_of(entry.id))
            else:
                continue
            for name, count, total in self._tallied(entry, decision):
                key = (entry.time[:13], scope, name)
                before = sums[key]
                sums[key] = (before[0] + count, before[1] + total)
        return Portion(tuple(digests.values()), dict(sums)) if entries else None

    def apply(self, connection: sa.Connection, change: Portion) -> None:
        add_scopes(connection, {digest.scope for digest in change.digests})
        _insert(connection, DECISIONS, [_row(digest) for digest in change.digests])
        _sources(connection, change.digests)
        for width, length in ((HOUR, 13), (DAY, 10)):
            _tallies(connection, change, width, length)
        _prune(connection, max((hour for hour, _, _ in change.tallies), default=""))

    def _tallied(self, entry: Entry, found: Digest | None) -> Iterator[Tally]:
        """What a record adds to the tallies, as far as it can be read: a damaged record must not
        stop the index, and one value that is no number must not spoil a sum."""
        with suppress(*UNREADABLE):
            for name, count, total in self.tallies(entry, found):
                if math.isfinite(total):
                    yield replace_unstorable(name), count, total


def _digest(entry: Entry) -> Digest:
    """The digest of a record; empty if it cannot be read, so that it does not stop the index."""
    try:
        return digest(entry)
    except UNREADABLE:
        return Digest(entry.sequence, entry.id, entry.time, "", "", entry.caller, "null")


def _scope(connection: sa.Connection, digests: dict[str, Digest], id: str) -> int:
    """The scope of a decision that another record is about."""
    if id in digests:
        return digests[id].scope_id
    found = connection.scalar(sa.select(DECISIONS.c.scope).where(DECISIONS.c.id == id))
    return UNKNOWN if found is None else int(found)


def add_scopes(connection: sa.Connection, scopes: Iterable[str]) -> None:
    """Store scopes that are not stored yet, always in the same order, so that two transactions
    cannot wait for each other."""
    by_id = sorted((scope_id(scope), scope) for scope in scopes)
    _insert(connection, SCOPES, [{"id": id, "body": body} for id, body in by_id])


def _row(digest: Digest) -> dict[str, Any]:
    names = ("sequence", "id", "time", "action", "level", "question", "released", "confidence")
    row = {name: getattr(digest, name) for name in names}
    caller, scope = digest.caller or None, digest.scope_id
    return {**row, "caller": caller, "scope": scope, "seconds": digest.seconds}


def _sources(connection: sa.Connection, digests: Sequence[Digest]) -> None:
    rows: dict[int, dict[str, Any]] = {}
    uses = []
    for digest in digests:
        for used in digest.uses:
            uses.append({"source": used.id, "sequence": digest.sequence, "cited": int(used.cited)})
            row = rows.setdefault(
                used.id,
                {
                    "id": used.id,
                    "collection": used.collection,
                    "document": used.document,
                    "version": used.version,
                    "access": used.access_text,
                    "used": 0,
                    "cited": 0,
                    "last_used": "",
                    "last_cited": "",
                },
            )
            row["used"] += 1
            row["cited"] += used.cited
            row["last_used"] = digest.time
            row["last_cited"] = digest.time if used.cited else row["last_cited"]
    _insert(connection, USES, uses)
    _add(connection, SOURCES, list(rows.values()), ("used", "cited"), ("last_used", "last_cited"))


def _tallies(connection: sa.Connection, found: Portion, width: int, length: int) -> None:
    sums: dict[tuple[str, int, str], tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for (hour, scope, name), (count, total) in found.tallies.items():
        key = (hour[:length], scope, name)
        sums[key] = (sums[key][0] + count, sums[key][1] + total)
    rows = [
        {"width": width, "bucket": bucket, "scope": scope, "name": name, "count": n, "total": total}
        for (bucket, scope, name), (n, total) in sums.items()
    ]
    _add(connection, TALLIES, rows, ("count", "total"))


def _prune(connection: sa.Connection, newest: str) -> None:
    """Delete the tallies by hour that no page shows any more; those by day are kept."""
    if newest:
        first = date.fromisoformat(newest[:10]) - timedelta(days=HOURS_KEPT)
        table = TALLIES.c
        old = sa.delete(TALLIES).where(table.width == HOUR, table.bucket < first.isoformat())
        connection.execute(old)


def _insert(connection: sa.Connection, table: sa.Table, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        connection.execute(upsert(connection, table).on_conflict_do_nothing(), rows)


def _add(
    connection: sa.Connection,
    table: sa.Table,
    rows: Sequence[dict[str, Any]],
    summed: Sequence[str],
    latest: Sequence[str] = (),
) -> None:
    """Insert rows, or add them to the rows with the same key; a `latest` column keeps the new value
    unless it is empty."""
    if not rows:
        return
    new = upsert(connection, table)
    values: dict[str, Any] = {name: table.c[name] + new.excluded[name] for name in summed}
    for name in latest:
        values[name] = sa.case((new.excluded[name] != "", new.excluded[name]), else_=table.c[name])
    key = [column.name for column in table.primary_key]
    connection.execute(new.on_conflict_do_update(index_elements=key, set_=values), rows)


_LOG = logging.getLogger("suffice.monitor")
_PAUSE = 1.0
"""Seconds between updates for pages."""


class Indexing:
    """Updates the index until it is closed. Thread-safe."""

    def __init__(self, index: DecisionIndex, pause: float = _PAUSE) -> None:
        self.index = index
        self._pause = pause
        self._lock = threading.Lock()
        self._last = float("-inf")
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def refresh(self) -> int:
        """Read some new records, unless another thread does. Return how many are left; these are
        read in the background. If that fails, the page shows what is indexed."""
        if self._lock.acquire(blocking=False):
            try:
                if time.monotonic() - self._last >= self._pause:
                    self._last = time.monotonic()
                    if self.index.update():
                        self._start()
            except Exception as problem:  # the page must not fail with it
                _report(problem)
            finally:
                self._lock.release()
        return self.index.behind()

    def catch_up_within(self, seconds: float) -> int:
        """Read all records there are now, for some seconds at most. Return how many are left; 0
        means that none was left when this ended, even if others have been written since."""
        end = time.monotonic() + seconds
        try:
            while self.index.update():
                if time.monotonic() >= end:
                    self._start()
                    return self.index.behind()
        except Exception as problem:  # the caller says that something is missing
            _report(problem)
            return max(self.index.behind(), 1)
        return 0

    def catch_up(self) -> None:
        """Read all records that have not been read yet."""
        while not self._closed.is_set() and self.index.update():
            pass

    def close(self) -> None:
        self._closed.set()

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._run, name="index", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        try:
            self.catch_up()
        except Exception as problem:  # the next page tries again
            _report(problem)


def _report(problem: Exception) -> None:
    if isinstance(problem, StoreError):
        _LOG.warning("Index of decisions: %s", problem)
    else:
        _LOG.error("Index of decisions: unexpected error.", exc_info=problem)
