"""The review queue as a table that can be filtered, counted and sorted.

The table is derived from the log: `Queue` reads the records added since the last time, and computes
the row of each affected case from all of its records. The table holds no content, so nothing of an
erased record stays in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from suffice.access.visibility import Reader, readable_scopes
from suffice.log.decision import QUEUE, subject_of
from suffice.log.follower import ERASURE, Cursor, Follower
from suffice.log.index import add_scopes, scope_id, scope_of
from suffice.log.log import Why
from suffice.log.record import UNREADABLE, Entry, values
from suffice.log.stored import all_about
from suffice.log.tables import RECORDS
from suffice.review.actions import ASSIGNMENT, PRIORITY, Priority
from suffice.review.case import DECIDED, FEEDBACK, State, assignee_of, priority_of, state_of, why_of
from suffice.sql import sa
from suffice.sql.columns import number, text
from suffice.sql.database import Database
from suffice.sql.statements import number_in, upsert

_METADATA = sa.MetaData()

CASES = sa.Table(
    "review_cases",
    _METADATA,
    text("record", key=True),
    number("sequence"),
    number("waiting"),
    text("state"),
    number("priority"),
    text("why"),
    text("assignee"),
    number("scope"),
)


WAITING = (State.OPEN, State.ASSIGNED)
_CONCERNING = (QUEUE, *DECIDED, FEEDBACK, ASSIGNMENT, PRIORITY)
_PAYLOAD = sa.select(RECORDS.c.payload).where(RECORDS.c.id == sa.bindparam("of"))


class Order(StrEnum):
    PRIORITY = "priority"
    """Most urgent first, then longest waiting first."""
    NEWEST = "newest"
    OLDEST = "oldest"


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """A selection of cases: waiting, `all`, or in one `state`; queued for one reason; with one
    priority or assignee (empty: any); with a queue record before a number. `skip` leaves out the
    first ones."""

    all: bool = False
    why: Why | None = None
    before: int | None = None
    state: State | None = None
    priority: Priority | None = None
    assignee: str = ""
    order: Order = Order.NEWEST
    skip: int = 0


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of cases in each state, and the number of waiting cases by reason and assignee."""

    states: Counter[str] = field(default_factory=Counter)
    why: Counter[str] = field(default_factory=Counter)
    assignees: Counter[str] = field(default_factory=Counter)

    @property
    def waiting(self) -> int:
        return sum(self.states[state] for state in WAITING)


@dataclass(frozen=True, slots=True)
class CaseChanges:
    """Changed rows of the table, and the scopes that they refer to."""

    rows: tuple[dict[str, Any], ...]
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Queue(Follower[CaseChanges]):
    """Keeps the table up to date with the log."""

    database: Database

    name = "queue"
    kinds = (*_CONCERNING, ERASURE)
    portion = 1_000

    def read(
        self, connection: sa.Connection, cursor: Cursor, entries: Sequence[Entry]
    ) -> CaseChanges | None:
        if not entries:
            return None
        concerned: set[str] = set()
        for entry in entries:
            erased = entry.kind == ERASURE
            concerned |= set(_erased(connection, entry)) if erased else {subject_of(entry.id)}
        cases = {id: case for id in sorted(concerned) if (case := _row(connection, id))}
        scopes = {id: _scope(connection, id) for id in cases}
        rows = tuple({**case, "scope": scope_id(scopes[id])} for id, case in cases.items())
        return CaseChanges(rows, frozenset(scopes.values()))

    def apply(self, connection: sa.Connection, change: CaseChanges) -> None:
        if change.rows:
            add_scopes(connection, change.scopes)
            connection.execute(_saves(connection), list(change.rows))


def selected(
    connection: sa.Connection, wanted: CaseFilter, most: int, reader: Reader | None = None
) -> list[str]:
    """The ids of the selected decisions. With a reader, only cases that it may read."""
    query = _narrowed(sa.select(CASES.c.record), wanted, _allowed(connection, reader))
    query = query.order_by(*_order(wanted.order)).offset(wanted.skip).limit(most)
    return list(connection.scalars(query))


def following(
    connection: sa.Connection, record: str, wanted: CaseFilter, reader: Reader | None = None
) -> str:
    """The id of the case after this one in a selection; after the last case, the first. Empty if
    there is no other case."""
    here = connection.execute(sa.select(CASES).where(CASES.c.record == record)).first()
    query = _narrowed(sa.select(CASES.c.record), wanted, _allowed(connection, reader))
    query = query.where(CASES.c.record != record).order_by(*_order(wanted.order)).limit(1)
    after = None if here is None else connection.scalar(query.where(_after(here, wanted.order)))
    return str(after or connection.scalar(query) or "")


def counted(connection: sa.Connection, reader: Reader | None = None) -> Counts:
    # The columns of an index in its order, so that the database neither sorts nor reads the table.
    columns = (CASES.c.scope, CASES.c.state, CASES.c.why, CASES.c.assignee)
    query = sa.select(*columns, sa.func.count().label("cases")).group_by(*columns)
    counts, readable = Counts(), readable_scopes(connection, reader)
    for row in connection.execute(query):
        if readable is not None and row.scope not in readable:
            continue
        counts.states[row.state] += row.cases
        if row.state not in WAITING:
            continue
        for why in row.why.split():
            counts.why[why] += row.cases
        if row.assignee:
            counts.assignees[row.assignee] += row.cases
    return counts


def _narrowed(
    query: sa.Select[Any], wanted: CaseFilter, allowed: sa.ColumnElement[bool] | None
) -> sa.Select[Any]:
    table = CASES.c
    if wanted.state is not None:
        waits = int(wanted.state in WAITING)
        query = query.where(table.waiting == waits, table.state == wanted.state.value)
    elif not wanted.all:
        query = query.where(table.waiting == 1)
    if wanted.why is not None:
        query = query.where(table.why.contains(f" {wanted.why.value} ", autoescape=True))
    if wanted.priority is not None:
        query = query.where(table.priority == wanted.priority.value)
    if wanted.assignee:
        query = query.where(table.assignee == wanted.assignee)
    if wanted.before is not None:
        query = query.where(table.sequence < wanted.before)
    return query if allowed is None else query.where(allowed)


def _order(order: Order) -> Sequence[sa.ColumnElement[Any]]:
    table = CASES.c
    if order is Order.NEWEST:
        return (table.sequence.desc(),)
    return (table.priority.desc(), table.sequence) if order is Order.PRIORITY else (table.sequence,)


def _after(here: sa.Row[Any], order: Order) -> sa.ColumnElement[bool]:
    table, number = CASES.c, int(here.sequence)
    if order is Order.NEWEST:
        return table.sequence < number
    later = table.sequence > number
    if order is Order.OLDEST:
        return later
    urgency = int(here.priority)
    return sa.or_(table.priority < urgency, sa.and_(table.priority == urgency, later))


def _allowed(connection: sa.Connection, reader: Reader | None) -> sa.ColumnElement[bool] | None:
    """The condition for cases that a reader may read."""
    readable = readable_scopes(connection, reader)
    return None if readable is None else number_in(CASES.c.scope, readable)


# Bringing the table up to date


def _erased(connection: sa.Connection, erasure: Entry) -> Iterator[str]:
    """The cases from which an erasure removed content."""
    spans: Any = values(erasure.payload, ("records",)).get("records", ())
    table = RECORDS.c
    for first, last in spans:
        ids = sa.select(table.id).where(table.sequence >= first, table.sequence <= last)
        yield from (subject_of(id) for id in connection.scalars(ids))


def _row(connection: sa.Connection, id: str) -> dict[str, Any] | None:
    """The row of a case without its scope, from its records; a decision that is not queued has
    none."""
    concerning = [item for item in all_about(connection, id) if item.kind in _CONCERNING]
    queue = next((item for item in concerning if item.kind == QUEUE), None)
    if queue is None:
        return None
    state = state_of(concerning)
    return {
        "record": id,
        "sequence": queue.sequence,
        "waiting": int(state in WAITING),
        "state": state.value,
        "priority": priority_of(concerning).value,
        "why": f" {' '.join(why_of(concerning))} ",
        "assignee": assignee_of(concerning),
    }


def _saves(connection: sa.Connection) -> Any:
    new = upsert(connection, CASES)
    changed = {
        column.name: new.excluded[column.name] for column in CASES.c if column.name != "record"
    }
    return new.on_conflict_do_update(index_elements=["record"], set_=changed)


def _scope(connection: sa.Connection, id: str) -> str:
    """The collections and labels of all passages of a decision, as the index stores them."""
    payload = connection.scalar(_PAYLOAD, {"of": id})
    try:
        passages: Any = values(payload or "", ("passages",)).get("passages")
        return scope_of(passages)
    except UNREADABLE:  # a damaged record must not stop the queue
        return scope_of(None)
