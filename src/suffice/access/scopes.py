"""Finds the indexed decisions that a reader may know about, and those it may read completely.

The rules are those of `visibility.py`, applied to the collections and labels of all passages of a
decision. The store holds each combination once.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from suffice.access.visibility import Reader
from suffice.log.tables import SCOPES
from suffice.sql.toolkit import Connection, Engine, func, select

Pairs = Sequence[tuple[str, Sequence[str]]]
"""Collections with access labels."""
_READERS = 64
"""Readers whose scopes are kept."""


@dataclass(frozen=True, slots=True)
class _Scopes:
    """All scopes of a store, parsed. `count` and `last` change whenever a scope is added, and the
    content of a scope never changes."""

    count: int
    last: int
    pairs: dict[int, Pairs]
    known: dict[Reader, frozenset[int]] = field(default_factory=dict)
    readable: dict[Reader, frozenset[int]] = field(default_factory=dict)


_parsed: WeakKeyDictionary[Engine, _Scopes] = WeakKeyDictionary()


def known_scopes(connection: Connection, reader: Reader | None) -> frozenset[int] | None:
    """The scopes of decisions that a reader may know of; `None`: all of them."""
    if reader is None or reader.knows_all:
        return None
    scopes = _scopes(connection)
    found = scopes.known.get(reader)
    if found is None:
        found = frozenset(
            id
            for id, pairs in scopes.pairs.items()
            if any(reader.uses(collection) for collection, _ in pairs)
        )
        _keep(scopes.known, reader, found)
    return found


def readable_scopes(connection: Connection, reader: Reader | None) -> frozenset[int] | None:
    """The scopes of decisions that a reader may read completely; `None`: all of them. Decisions
    whose passages are not stored are in none of these scopes."""
    if reader is None:
        return None
    scopes = _scopes(connection)
    found = scopes.readable.get(reader)
    if found is None:
        found = frozenset(
            id
            for id, pairs in scopes.pairs.items()
            if all(reader.may_use(collection, labels) for collection, labels in pairs)
        )
        _keep(scopes.readable, reader, found)
    return found


def _scopes(connection: Connection) -> _Scopes:
    table = SCOPES.c
    count, last = connection.execute(select(func.count(), func.max(table.id))).one()
    kept = _parsed.get(connection.engine)
    if kept is not None and (kept.count, kept.last) == (count, last):
        return kept
    rows = connection.execute(select(SCOPES))
    bodies = ((int(row.id), json.loads(row.body)) for row in rows)
    found = _Scopes(count, last or 0, {id: body for id, body in bodies if body is not None})
    _parsed[connection.engine] = found
    return found


def _keep(found: dict[Reader, frozenset[int]], reader: Reader, ids: frozenset[int]) -> None:
    if len(found) >= _READERS:
        found.clear()
    found[reader] = ids
