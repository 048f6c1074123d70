"""Finds the indexed decisions that a reader may know about, and those it may read completely.

The rules are those of `visibility.py`, applied to the collections and labels of all passages of a
decision. The index stores each combination once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from sqlalchemy import Connection, select

from suffice.access.visibility import Reader
from suffice.log.tables import SCOPES

Pairs = Sequence[tuple[str, Sequence[str]]]
"""Collections with access labels."""


def known_scopes(connection: Connection, reader: Reader | None) -> list[int] | None:
    """The scopes of decisions that a reader may know of; `None`: all of them."""
    if reader is None or reader.knows_all:
        return None
    return _chosen(connection, lambda pairs: any(reader.uses(name) for name, _ in pairs))


def readable_scopes(connection: Connection, reader: Reader | None) -> list[int] | None:
    """The scopes of decisions that a reader may read completely; `None`: all of them. Decisions
    whose passages are not stored are in none of these scopes."""
    if reader is None:
        return None
    return _chosen(
        connection, lambda pairs: all(reader.may_use(name, labels) for name, labels in pairs)
    )


def _chosen(connection: Connection, fits: Callable[[Pairs], bool]) -> list[int]:
    found = ((row.id, json.loads(row.body)) for row in connection.execute(select(SCOPES)))
    return [id for id, pairs in found if pairs is not None and fits(pairs)]
