"""Visibility of records: access rights of documents also apply to records that use them.

A question, a reason, a finding or a number may show that a document exists. So whoever may not read
one of a record's passages does not learn of the record at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from suffice.access.keys import ALL, Principal, Role
from suffice.evidence.index import PUBLIC
from suffice.evidence.rows import VersionInfo
from suffice.log.record import Entry
from suffice.log.tables import SCOPES
from suffice.sql import sa
from suffice.types import Passage


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of records, with access labels and collections."""

    labels: frozenset[str] = frozenset()
    collections: frozenset[str] = frozenset({ALL})
    audits: bool = False
    """Whether the reader may see what counts records that it may not read: numbers of records, the
    state of the chain, and figures of the whole log."""
    _held: frozenset[str] = field(init=False, repr=False, compare=False)
    """The labels and the public one."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_held", self.labels | {PUBLIC})

    @classmethod
    def of(cls, principal: Principal) -> Reader:
        audits = principal.has(Role.ADMIN) and ALL in principal.collections
        return cls(principal.labels, principal.collections, audits)

    def may_read(self, passage: Passage | VersionInfo) -> bool:
        return self.may_use(passage.collection, passage.access)

    def may_use(self, collection: str, access: Iterable[str]) -> bool:
        """Whether the reader may read documents of a collection with these access labels."""
        labels = tuple(access)
        return self.uses(collection) and (not labels or not self._held.isdisjoint(labels))

    def may_use_all(self, pairs: Iterable[tuple[str, Iterable[str]]]) -> bool:
        """Whether the reader may read everything that a record is based on, given the collections
        and labels of its passages. A record without passages belongs to no collection."""
        allowed = [self.may_use(collection, labels) for collection, labels in pairs]
        return all(allowed) and (bool(allowed) or ALL in self.collections)

    def may_know(self, entry: Entry) -> bool:
        """Whether the reader may know that the record of a decision exists: it may read all of its
        passages. If these are no longer stored, only those who audit the log know of it."""
        passages = entry.fields().get("passages")
        if passages is None:
            return self.audits
        return self.may_use_all(
            (passage.get("collection", "default"), passage.get("access", ()))
            for passage in passages
        )

    def uses(self, collection: str) -> bool:
        return ALL in self.collections or collection in self.collections


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


_parsed: WeakKeyDictionary[sa.Engine, _Scopes] = WeakKeyDictionary()


def readable_scopes(connection: sa.Connection, reader: Reader | None) -> frozenset[int] | None:
    """The scopes of decisions that a reader may know of, because it may read all of their passages;
    `None`: all scopes. Those who audit the log also know of decisions whose passages are not
    stored."""
    if reader is None:
        return None
    scopes = _scopes(connection)
    readable = scopes.readable.get(reader)
    if readable is None:
        readable = frozenset(id for id, pairs in scopes.pairs.items() if reader.may_use_all(pairs))
        if reader.audits:
            readable |= {_UNKNOWN}
        if len(scopes.readable) >= _READERS:
            scopes.readable.clear()
        scopes.readable[reader] = readable
    return readable


def _scopes(connection: sa.Connection) -> _Scopes:
    table = SCOPES.c
    count, last = connection.execute(sa.select(sa.func.count(), sa.func.max(table.id))).one()
    parsed = _parsed.get(connection.engine)
    if parsed is not None and (parsed.count, parsed.last) == (count, last):
        return parsed
    rows = connection.execute(sa.select(SCOPES))
    bodies = ((int(row.id), json.loads(row.body)) for row in rows)
    scopes = _Scopes(count, last or 0, {id: body for id, body in bodies if body is not None})
    _parsed[connection.engine] = scopes
    return scopes
