"""The decisions of a log that a reader may know about, filtered and page by page.

>>> page = Decisions(log).page(DecisionFilter(action="REVIEW", text="leave"), reader=reader)
>>> [one.question for one in page.rows]
['How long is parental leave?']
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suffice.access.visibility import Reader, readable_scopes
from suffice.log.log import Log
from suffice.log.tables import DECISIONS, SOURCES, USES
from suffice.sql import sa
from suffice.sql.statements import holds, number_in
from suffice.text.storable import is_storable

PAGE = 50
SEARCHED = 100_000
"""Decisions that one page looks at for a text."""
_BRIEF = 300
_OFTEN = 20
"""A document is used often if more than one in this many decisions uses it."""


@dataclass(frozen=True, slots=True)
class DecisionFilter:
    """A selection of decisions: by action (`GATE`: gate decisions), caller, document, and text of
    the question or the answer; `since` inclusive and `until` exclusive, in the log's format."""

    action: str = ""
    caller: str = ""
    document: str = ""
    text: str = ""
    since: str = ""
    until: str = ""

    @property
    def any(self) -> bool:
        """Whether anything is filtered."""
        return self != DecisionFilter()


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """A decision in a list."""

    sequence: int
    id: str
    time: str
    action: str
    level: str
    caller: str
    question: str
    confidence: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class DecisionPage:
    """Decisions, newest first, and whether there are older or newer ones."""

    rows: tuple[DecisionRow, ...]
    older: bool = False
    newer: bool = False
    reached: DecisionRow | None = None
    """If a text was not looked for in all older decisions: the one down to which it was."""

    @property
    def last(self) -> str:
        """The id of the decision before which the next page begins; empty if there is none."""
        last = self.reached or (self.rows[-1] if self.rows else None)
        return last.id if last else ""


@dataclass(frozen=True, slots=True)
class Decisions:
    """The indexed decisions of a log."""

    log: Log

    def page(
        self,
        wanted: DecisionFilter,
        reader: Reader | None = None,
        *,
        before: str = "",
        after: str = "",
        most: int = PAGE,
    ) -> DecisionPage:
        """The newest decisions of a selection that are older than the one with the id `before`, or
        the next ones after the one with the id `after`."""
        with self.log.database.reading() as connection:
            begin, end = (_number(connection, id, reader) for id in (after, before))
            query = chosen(connection, wanted, reader)
            if query is None:
                return DecisionPage(())
            number = DECISIONS.c.sequence
            if begin is not None:
                query = query.where(number > begin).order_by(number)
            else:
                query = query.where(number < end) if end is not None else query
                query = query.order_by(number.desc())
            looks_back = wanted.text and begin is None
            reached = _reached(connection, reader, end) if looks_back else None
            query = query.where(number >= reached.sequence) if reached else query
            stored = connection.execute(query.limit(most + 1)).all()
        more, stored = len(stored) > most, stored[:most]
        rows = tuple(map(_row, stored))
        if begin is not None:
            return DecisionPage(rows[::-1], older=True, newer=more)
        reached = None if more else reached
        return DecisionPage(rows, more or reached is not None, end is not None, reached)

    def numbers(
        self, wanted: DecisionFilter, reader: Reader | None, after: int, most: int = 200
    ) -> list[int]:
        """The numbers of the next decisions of a selection, oldest first, for an export."""
        with self.log.database.reading() as connection:
            query = chosen(connection, wanted, reader)
            if query is None:
                return []
            number = DECISIONS.c.sequence
            query = query.with_only_columns(number).where(number > after)
            return list(connection.scalars(query.order_by(number).limit(most)))


def chosen(
    connection: sa.Connection, wanted: DecisionFilter, reader: Reader | None
) -> sa.Select[Any] | None:
    """The query for a selection; `None` if nothing can match it."""
    table = DECISIONS.c
    given = (wanted.action, wanted.caller, wanted.document, wanted.text)
    if not all(is_storable(value) for value in given):
        return None
    conditions: list[sa.ColumnElement[bool]] = []
    scopes = readable_scopes(connection, reader)
    if scopes is not None:
        conditions.append(number_in(table.scope, scopes))
    if wanted.action:
        conditions.append(table.action == wanted.action)
    if wanted.caller:
        conditions.append(table.caller == wanted.caller)
    if wanted.since or wanted.until:
        numbers = sa.select(sa.func.min(table.sequence), sa.func.max(table.sequence))
        low, high = connection.execute(numbers.where(*_span(wanted, table.time))).one()
        if low is None:
            return None
        # A page is read by number. In this form the times do not lead to another index.
        times = _span(wanted, sa.func.coalesce(table.time, ""))
        conditions += [table.sequence.between(low, high), *times]
    if wanted.text:
        text = wanted.text.lower()
        conditions.append(sa.or_(holds(table.question, text), holds(table.released, text)))
    if wanted.document:
        using = _using(connection, wanted.document, reader)
        if using is None:
            return None
        conditions.append(using)
    return sa.select(DECISIONS).where(*conditions)


def _span(wanted: DecisionFilter, time: sa.ColumnElement[str]) -> Iterator[sa.ColumnElement[bool]]:
    """The conditions on the time of a decision. Where a clock was wrong, times are in another order
    than numbers."""
    if wanted.since:
        yield time >= wanted.since
    if wanted.until:
        yield time < wanted.until


def _number(connection: sa.Connection, id: str, reader: Reader | None) -> int | None:
    """The number of the decision with this id; `None` if the reader knows of none."""
    if not id or not is_storable(id):
        return None
    query = sa.select(DECISIONS.c.sequence, DECISIONS.c.scope).where(DECISIONS.c.id == id)
    row, scopes = connection.execute(query).first(), readable_scopes(connection, reader)
    visible = row is not None and (scopes is None or row.scope in scopes)
    return int(row.sequence) if row is not None and visible else None


def _reached(
    connection: sa.Connection, reader: Reader | None, before: int | None
) -> DecisionRow | None:
    """The decision down to which one page looks for a text; `None`: all decisions are looked at. A
    text has no index, so a page reads a limited number of those that the reader may know of."""
    number, scopes = DECISIONS.c.sequence, readable_scopes(connection, reader)
    query = sa.select(DECISIONS).order_by(number.desc()).offset(SEARCHED - 1).limit(2)
    query = query.where(number < before) if before is not None else query
    query = query if scopes is None else query.where(number_in(DECISIONS.c.scope, scopes))
    rows = connection.execute(query).all()
    return _row(rows[0]) if len(rows) > 1 else None


def _using(
    connection: sa.Connection, document: str, reader: Reader | None
) -> sa.ColumnElement[bool] | None:
    """The condition that a decision used a document of any collection, in a version that the reader
    may read; `None` if there is none."""
    sources = connection.execute(sa.select(SOURCES).where(SOURCES.c.document == document)).all()
    mine = [
        row
        for row in sources
        if reader is None or reader.may_use(row.collection, json.loads(row.access))
    ]
    if not mine:
        return None
    chosen = number_in(USES.c.source, [row.id for row in mine])
    last = connection.scalar(sa.select(sa.func.max(DECISIONS.c.sequence))) or 0
    if sum(row.used for row in mine) * _OFTEN > last:
        # Most pages are full after a few decisions, so testing each is cheaper than listing all.
        return sa.exists().where(chosen, USES.c.sequence == DECISIONS.c.sequence)
    return DECISIONS.c.sequence.in_(sa.select(USES.c.sequence).where(chosen))


def _row(row: Any) -> DecisionRow:
    return DecisionRow(
        row.sequence,
        row.id,
        row.time,
        row.action,
        row.level,
        row.caller or "",
        row.question[:_BRIEF],
        row.confidence,
        row.seconds,
    )
