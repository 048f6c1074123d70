"""The documents of a store that a reader may know about: versions, expiry, and how often each was
cited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any

from suffice.access.keys import ALL
from suffice.access.visibility import Reader, readable_scopes
from suffice.errors import DocumentMissing
from suffice.evidence.rows import VersionInfo, newest
from suffice.evidence.store import Store
from suffice.log.tables import DECISIONS, SOURCES, USES
from suffice.sql import sa
from suffice.sql.statements import number_in
from suffice.text.storable import is_storable


@dataclass(frozen=True, slots=True)
class Citations:
    """How many decisions had a document in their evidence, how many answers cite it, and when each
    last happened; empty if never."""

    used: int = 0
    cited: int = 0
    last_used: str = ""
    last_cited: str = ""

    def __add__(self, other: Citations) -> Citations:
        return Citations(
            self.used + other.used,
            self.cited + other.cited,
            max(self.last_used, other.last_used),
            max(self.last_cited, other.last_cited),
        )


def citations(
    connection: sa.Connection, collection: str, documents: Collection[str], reader: Reader | None
) -> dict[str, dict[str, Citations]]:
    """The citations by document and version. Citations from a time when the reader's rights would
    not have covered the document do not count, and neither do those by decisions that the reader
    may not know of."""
    table = SOURCES.c
    of_them = (table.collection == collection, table.document.in_(list(documents)))
    query = sa.select(SOURCES).where(*of_them)
    if not _knows_all(connection, reader):
        query = _counted(of_them, readable_scopes(connection, reader) or frozenset())
    by_document: dict[str, dict[str, Citations]] = {}
    for row in connection.execute(query):
        if reader is not None and not reader.may_use(row.collection, json.loads(row.access)):
            continue
        versions = by_document.setdefault(row.document, {})
        counted = Citations(row.used, row.cited, row.last_used, row.last_cited)
        versions[row.version] = versions.get(row.version, Citations()) + counted
    return by_document


def _knows_all(connection: sa.Connection, reader: Reader | None) -> bool:
    """Whether the reader may know of every decision, so that the stored sums are right for it."""
    readable = readable_scopes(connection, reader)
    others = sa.select(DECISIONS.c.sequence).limit(1)
    if readable is None:
        return True
    return connection.execute(others.where(~number_in(DECISIONS.c.scope, readable))).first() is None


def _counted(of_them: Sequence[sa.ColumnElement[bool]], scopes: frozenset[int]) -> sa.Select[Any]:
    """The sums over the decisions with these scopes, in the columns of the stored sums."""
    table, used, decision = SOURCES.c, USES.c, DECISIONS.c
    last_cited = sa.func.coalesce(sa.func.max(sa.case((used.cited == 1, decision.time))), "")
    return (
        sa.select(
            table.id,
            table.collection,
            table.document,
            table.version,
            table.access,
            sa.func.count().label("used"),
            sa.func.sum(used.cited).label("cited"),
            sa.func.max(decision.time).label("last_used"),
            last_cited.label("last_cited"),
        )
        .join_from(SOURCES, USES, used.source == table.id)
        .join(DECISIONS, decision.sequence == used.sequence)
        .where(*of_them, number_in(decision.scope, scopes))
        .group_by(table.id, table.collection, table.document, table.version, table.access)
    )


_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_LONGEST_LINE = 4_000
"""Longer lines are compared as a whole."""
MOST_LINES = 20_000


class Change(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a line; `changed` if it does not occur in the line that this one replaces."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of either text, with its numbers from 1 (`None`: not in that text)."""

    change: Change
    old: int | None
    new: int | None
    parts: tuple[Part, ...]


Hunk = tuple[Line, ...]
"""A run of changed lines with the lines around it."""


def compare(old: str, new: str, context: int = 2) -> list[Hunk]:
    """The changed places of two texts; empty if they are equal.

    >>> [(line.change.value, line.parts[0].text) for line in compare("a\\nb", "a\\nc")[0]]
    [('same', 'a'), ('removed', 'b'), ('added', 'c')]
    """
    before, after = old.splitlines()[:MOST_LINES], new.splitlines()[:MOST_LINES]
    matcher = SequenceMatcher(None, before, after, autojunk=len(before) + len(after) > 2_000)
    return [
        tuple(line for step in group for line in _lines(step, before, after))
        for group in matcher.get_grouped_opcodes(context)
    ]


def counts(hunks: Sequence[Hunk]) -> tuple[int, int]:
    """The numbers of removed and added lines."""
    kinds = [line.change for hunk in hunks for line in hunk]
    return kinds.count(Change.REMOVED), kinds.count(Change.ADDED)


def _lines(
    step: tuple[str, int, int, int, int], before: Sequence[str], after: Sequence[str]
) -> Iterator[Line]:
    tag, a, b, c, d = step
    if tag == "equal":
        for n in range(b - a):
            yield Line(Change.SAME, a + n + 1, c + n + 1, (Part(before[a + n]),))
        return
    pairs = [_words(*both) for both in zip(before[a:b], after[c:d], strict=False)]
    for n in range(a, b):
        parts = pairs[n - a][0] if n - a < len(pairs) else (Part(before[n], changed=True),)
        yield Line(Change.REMOVED, n + 1, None, parts)
    for n in range(c, d):
        parts = pairs[n - c][1] if n - c < len(pairs) else (Part(after[n], changed=True),)
        yield Line(Change.ADDED, None, n + 1, parts)


def _words(old: str, new: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Two lines in parts, with the words in which they differ marked."""
    if max(len(old), len(new)) > _LONGEST_LINE:
        return (Part(old, changed=True),), (Part(new, changed=True),)
    first, second = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    left, right = [], []
    for tag, a, b, c, d in matcher.get_opcodes():
        differs = tag != "equal"
        left += [Part("".join(first[a:b]), differs)] if b > a else []
        right += [Part("".join(second[c:d]), differs)] if d > c else []
    return tuple(left), tuple(right)


PAGE = 50
_PORTION = 200
CALENDAR = 366
"""The number of days that the expiry calendar covers."""
PAST = 31
"""Days for which expired documents stay in the calendar."""


class View(StrEnum):
    """Which documents are listed."""

    ALL = "all"
    CITED = "cited"
    NEVER = "never"
    """In force today, and no answer has ever cited it."""
    EXPIRED = "expired"
    """No version is in force today."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A document in a list: its version in force (otherwise the newest), the number of versions
    that the reader may read, and the citations of all of them."""

    version: VersionInfo
    versions: int
    citations: Citations

    def status(self, day: date) -> str:
        return self.version.status(day)


@dataclass(frozen=True, slots=True)
class Listing:
    """Documents by name; `more` says whether others follow."""

    documents: tuple[Listed, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """A document with all versions that the reader may read, newest first, and their citations."""

    document: str
    collection: str
    versions: tuple[VersionInfo, ...]
    citations: dict[str, Citations]

    @property
    def total(self) -> Citations:
        return sum(self.citations.values(), Citations())

    def find(self, key: str) -> VersionInfo | None:
        return next((version for version in self.versions if version.key == key), None)


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a store for one reader."""

    store: Store
    reader: Reader

    def collections(self) -> list[str]:
        """The collections with documents that the reader may read."""
        return self.store.collections(self.reader.may_use)

    def page(
        self,
        collection: str,
        day: date,
        *,
        view: View = View.ALL,
        text: str = "",
        after: str = "",
        most: int = PAGE,
    ) -> Listing:
        """The documents after a name, in order."""
        listed: list[Listed] = []
        while len(listed) <= most:
            portion = self.store.listed(collection, after, text, _PORTION)
            mine = [self._readable(versions) for versions in portion]
            listed += self._fitting(
                collection, [versions for versions in mine if _holds(versions, text)], view, day
            )
            if len(portion) < _PORTION:
                break
            after = portion[-1][0].document
        return Listing(tuple(listed[:most]), len(listed) > most)

    def _fitting(
        self, collection: str, portion: Sequence[list[VersionInfo]], view: View, day: date
    ) -> list[Listed]:
        names = [versions[0].document for versions in portion]
        with self.store.database.reading() as connection:
            cited = citations(connection, collection, names, self.reader)
        listed = [
            Listed(
                newest(versions, day)[0],
                len(versions),
                sum(cited.get(versions[0].document, {}).values(), Citations()),
            )
            for versions in portion
        ]
        return [item for item in listed if _fits(item, view, day)]

    def history(self, collection: str, document: str) -> History:
        """A document and its versions, including those in other files. A document that the reader
        may not know about is reported as missing."""
        if not is_storable(document) or not self.reader.uses(collection):
            raise _missing(document)
        mine: list[VersionInfo] = []
        with suppress(DocumentMissing):  # the store's message names its path
            mine = self._readable(self.store.history(collection, document))
        if not any(version.document == document for version in mine):
            raise _missing(document)
        names = {version.document for version in mine}
        total: dict[str, Citations] = {}
        with self.store.database.reading() as connection:
            for versions in citations(connection, collection, names, self.reader).values():
                for key, counted in versions.items():
                    total[key] = total.get(key, Citations()) + counted
        return History(document, collection, tuple(reversed(mine)), total)

    def difference(self, history: History, old: str, new: str) -> list[Hunk] | None:
        """The changes from one version of a document to another; `None` if the reader may not read
        both."""
        before, after = history.find(old), history.find(new)
        if before is None or after is None:
            return None
        return compare(self._text(before), self._text(after))

    def _text(self, version: VersionInfo) -> str:
        return self.store.text(version.collection, version.document, version.key, version.access)

    def calendar(self, day: date) -> list[VersionInfo]:
        """Versions that expire within a year, or expired within a month and were not replaced."""
        chosen = None if ALL in self.reader.collections else sorted(self.reader.collections)
        since, until = day - timedelta(days=PAST), day + timedelta(days=CALENDAR)
        expiring = self._readable(self.store.expiring(chosen, since, until))
        return [version for version in expiring if self._due(version, day)]

    def _due(self, version: VersionInfo, day: date) -> bool:
        """Whether somebody has to renew it: it is not replaced, and if it has expired, no version
        of the document is in force."""
        status = version.status(day)
        if status != "expired":
            return status in ("current", "not yet effective")
        if version.expires is not None and version.force_until <= version.expires:
            return False  # replaced before it expired
        every = self._readable(self.store.history(version.collection, version.document))
        return not any(other.status(day) == "current" for other in every)

    def _readable(self, versions: Sequence[VersionInfo]) -> list[VersionInfo]:
        return [version for version in versions if self.reader.may_read(version)]


def _holds(versions: Sequence[VersionInfo], text: str) -> bool:
    """Whether a text occurs in the versions that the reader may read; the store searches all."""
    words = text.lower()
    titles = (version.title.lower() for version in versions)
    return bool(versions) and (
        words in versions[0].document.lower() or any(words in title for title in titles)
    )


def _fits(item: Listed, view: View, day: date) -> bool:
    current = item.status(day) == "current"
    return {
        View.ALL: True,
        View.CITED: item.citations.cited > 0,
        View.NEVER: current and not item.citations.cited,
        View.EXPIRED: not current,
    }[view]


def _missing(document: str) -> DocumentMissing:
    return DocumentMissing(
        f"There is no document '{document}'.", remedy="Look for it in the list of documents."
    )
