"""Finds the indexed decisions that a reader may know about.

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
_UNKNOWN = 0
"""The scope of decisions whose passages are not stored."""
_READERS = 64
"""Readers whose scopes are kept."""


@dataclass(frozen=True, slots=True)
class _Scopes:
    """All scopes of a store, parsed. `count` and `last` change whenever a scope is added, and the
    content of a scope never changes."""

    count: int
    last: int
    pairs: dict[int, Pairs]
    readable: dict[Reader, frozenset[int]] = field(default_factory=dict)


_parsed: WeakKeyDictionary[Engine, _Scopes] = WeakKeyDictionary()


def readable_scopes(connection: Connection, reader: Reader | None) -> frozenset[int] | None:
    """The scopes of decisions that a reader may know of, because it may read all of their passages;
    `None`: all scopes. Those who audit the log also know of decisions whose passages are not
    stored."""
    if reader is None:
        return None
    scopes = _scopes(connection)
    found = scopes.readable.get(reader)
    if found is None:
        found = frozenset(id for id, pairs in scopes.pairs.items() if reader.may_use_all(pairs))
        if reader.audits:
            found |= {_UNKNOWN}
        if len(scopes.readable) >= _READERS:
            scopes.readable.clear()
        scopes.readable[reader] = found
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
