"""The decisions of a log that a reader may know about, filtered and page by page.

>>> page = Decisions(log).page(Wanted(action="REVIEW", text="leave"), reader=reader)
>>> [one.question for one in page.rows]
['How long is parental leave?']
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from suffice.access.scopes import known_scopes, readable_scopes
from suffice.access.visibility import Reader
from suffice.log.tables import DECISIONS, SOURCES, USES
from suffice.record.log import Log
from suffice.sql.functions import holds, number_in
from suffice.sql.storable import is_storable
from suffice.sql.toolkit import ColumnElement, Connection, Select, exists, func, or_, select

PAGE = 50
SEARCHED = 100_000
"""Numbers that one page looks at for a text."""
_BRIEF = 300
_OFTEN = 20
"""A document is used often if more than one in this many decisions uses it."""


@dataclass(frozen=True, slots=True)
class Wanted:
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
        return self != Wanted()


@dataclass(frozen=True, slots=True)
class Row:
    """A decision in a list. `hidden`: it is based on passages that the reader may not read, or
    whose rights are no longer known."""

    sequence: int
    id: str
    time: str
    action: str
    level: str
    caller: str
    question: str
    confidence: float | None
    seconds: float | None
    hidden: bool


@dataclass(frozen=True, slots=True)
class Page:
    """Decisions, newest first, and whether there are older or newer ones."""

    rows: tuple[Row, ...]
    older: bool = False
    newer: bool = False
    reached: int | None = None
    """If a text was not looked for in all older decisions: the number down to which it was."""

    @property
    def last(self) -> int | None:
        """The number before which the next page begins."""
        return self.reached or (self.rows[-1].sequence if self.rows else None)


@dataclass(frozen=True, slots=True)
class Decisions:
    """The indexed decisions of a log."""

    log: Log

    def page(
        self,
        wanted: Wanted,
        reader: Reader | None = None,
        *,
        before: int | None = None,
        after: int | None = None,
        most: int = PAGE,
    ) -> Page:
        """The newest decisions of a selection with a number below `before`, or the next ones above
        `after`."""
        with self.log.database.reading() as connection:
            query = chosen(connection, wanted, reader)
            if query is None:
                return Page(())
            whole = readable_scopes(connection, reader)
            number = DECISIONS.c.sequence
            if after is not None:
                query = query.where(number > after).order_by(number)
            else:
                query = query.where(number < before) if before is not None else query
                query = query.order_by(number.desc())
            reached = _reached(connection, before) if wanted.text and after is None else None
            query = query.where(number >= reached) if reached else query
            found = connection.execute(query.limit(most + 1)).all()
        more, found = len(found) > most, found[:most]
        rows = tuple(_row(one, whole) for one in found)
        if after is not None:
            return Page(rows[::-1], older=True, newer=more)
        reached = None if more else reached
        return Page(rows, more or reached is not None, before is not None, reached)

    def numbers(
        self, wanted: Wanted, reader: Reader | None, after: int, most: int = 200
    ) -> list[int]:
        """The numbers of the next decisions of a selection, oldest first, for an export."""
        with self.log.database.reading() as connection:
            query = chosen(connection, wanted, reader)
            if query is None:
                return []
            number = DECISIONS.c.sequence
            query = query.with_only_columns(number).where(number > after)
            return list(connection.scalars(query.order_by(number).limit(most)))


def chosen(connection: Connection, wanted: Wanted, reader: Reader | None) -> Select[Any] | None:
    """The query for a selection; `None` if nothing can match it."""
    table = DECISIONS.c
    given = (wanted.action, wanted.caller, wanted.document, wanted.text)
    if not all(is_storable(value) for value in given):
        return None
    conditions: list[ColumnElement[bool]] = []
    scopes = known_scopes(connection, reader)
    if scopes is not None:
        conditions.append(number_in(table.scope, scopes))
    if wanted.action:
        conditions.append(table.action == wanted.action)
    if wanted.caller:
        conditions.append(table.caller == wanted.caller)
    if wanted.since or wanted.until:
        numbers = select(func.min(table.sequence), func.max(table.sequence))
        low, high = connection.execute(numbers.where(*_span(wanted, table.time))).one()
        if low is None:
            return None
        # A page is read by number. In this form the times do not lead to another index.
        times = _span(wanted, func.coalesce(table.time, ""))
        conditions += [table.sequence.between(low, high), *times]
    if wanted.text:
        conditions.append(_holding(connection, wanted.text.lower(), reader))
    if wanted.document:
        using = _using(connection, wanted.document, reader)
        if using is None:
            return None
        conditions.append(using)
    return select(DECISIONS).where(*conditions)


def _span(wanted: Wanted, time: ColumnElement[str]) -> Iterator[ColumnElement[bool]]:
    """The conditions on the time of a decision. Where a clock was wrong, times are in another order
    than numbers."""
    if wanted.since:
        yield time >= wanted.since
    if wanted.until:
        yield time < wanted.until


def _reached(connection: Connection, before: int | None) -> int | None:
    """The number down to which one page looks for a text; `None`: all decisions are looked at. A
    text has no index, so a page reads a limited number of decisions."""
    last = connection.scalar(select(func.max(DECISIONS.c.sequence))) or 0
    low = min(before if before is not None else last + 1, last + 1) - SEARCHED
    return low if low > 1 else None


def _holding(connection: Connection, text: str, reader: Reader | None) -> ColumnElement[bool]:
    """The condition that a text occurs in the question, or in an answer that the reader may
    read."""
    table = DECISIONS.c
    released = holds(table.released, text)
    whole = readable_scopes(connection, reader)
    if whole is not None:
        return or_(holds(table.question, text), released & number_in(table.scope, whole))
    return or_(holds(table.question, text), released)


def _using(
    connection: Connection, document: str, reader: Reader | None
) -> ColumnElement[bool] | None:
    """The condition that a decision used a document of any collection, in a version that the reader
    may read; `None` if there is none."""
    found = connection.execute(select(SOURCES).where(SOURCES.c.document == document)).all()
    mine = [
        row
        for row in found
        if reader is None or reader.may_use(row.collection, json.loads(row.access))
    ]
    if not mine:
        return None
    chosen = number_in(USES.c.source, [row.id for row in mine])
    last = connection.scalar(select(func.max(DECISIONS.c.sequence))) or 0
    if sum(row.used for row in mine) * _OFTEN > last:
        # Most pages are full after a few decisions, so testing each is cheaper than listing all.
        return exists().where(chosen, USES.c.sequence == DECISIONS.c.sequence)
    return DECISIONS.c.sequence.in_(select(USES.c.sequence).where(chosen))


def _row(one: Any, whole: frozenset[int] | None) -> Row:
    return Row(
        one.sequence,
        one.id,
        one.time,
        one.action,
        one.level,
        one.caller or "",
        one.question[:_BRIEF],
        one.confidence,
        one.seconds,
        whole is not None and one.scope not in whole,
    )
