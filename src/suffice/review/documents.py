"""The documents of a store that a reader may know about: versions, expiry, and how often each was
cited."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from suffice.access.keys import ALL
from suffice.access.visibility import Reader
from suffice.errors import DocumentMissing
from suffice.evidence.rows import VersionInfo, newest
from suffice.evidence.store import Store
from suffice.review.citations import Citations, citations, of_document
from suffice.sql.storable import is_storable
from suffice.text.compare import Hunk, compare

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
        return of_document(self.citations)

    def find(self, key: str) -> VersionInfo | None:
        return next((one for one in self.versions if one.key == key), None)


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
        found: list[Listed] = []
        while len(found) <= most:
            portion = self.store.listed(collection, after, text, _PORTION)
            mine = [self._readable(versions) for versions in portion]
            found += self._fitting(
                collection, [one for one in mine if _holds(one, text)], view, day
            )
            if len(portion) < _PORTION:
                break
            after = portion[-1][0].document
        return Listing(tuple(found[:most]), len(found) > most)

    def _fitting(
        self, collection: str, portion: Sequence[list[VersionInfo]], view: View, day: date
    ) -> list[Listed]:
        names = [versions[0].document for versions in portion]
        with self.store.database.reading() as connection:
            cited = citations(connection, collection, names, self.reader)
        listed = [
            Listed(newest(own, day)[0], len(own), of_document(cited.get(own[0].document, {})))
            for own in portion
        ]
        return [one for one in listed if _fits(one, view, day)]

    def history(self, collection: str, document: str) -> History:
        """A document and its versions, including those in other files. A document that the reader
        may not know about is reported as missing."""
        if not is_storable(document) or not self.reader.uses(collection):
            raise _missing(document)
        mine: list[VersionInfo] = []
        with suppress(DocumentMissing):  # the store's message names its path
            mine = self._readable(self.store.history(collection, document))
        if not any(one.document == document for one in mine):
            raise _missing(document)
        names = {one.document for one in mine}
        total: dict[str, Citations] = {}
        with self.store.database.reading() as connection:
            for versions in citations(connection, collection, names, self.reader).values():
                for version, one in versions.items():
                    total[version] = total.get(version, Citations()) + one
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
        found = self._readable(self.store.expiring(chosen, since, until))
        return [one for one in found if self._due(one, day)]

    def _due(self, version: VersionInfo, day: date) -> bool:
        """Whether somebody has to renew it: it is not replaced, and if it has expired, no version
        of the document is in force."""
        status = version.status(day)
        if status != "expired":
            return status in ("current", "not yet effective")
        if version.expires is not None and version.force_until <= version.expires:
            return False  # replaced before it expired
        every = self._readable(self.store.history(version.collection, version.document))
        return not any(one.status(day) == "current" for one in every)

    def _readable(self, versions: Sequence[VersionInfo]) -> list[VersionInfo]:
        return [one for one in versions if self.reader.may_read(one)]


def _holds(versions: Sequence[VersionInfo], text: str) -> bool:
    """Whether a text occurs in the versions that the reader may read; the store searches all."""
    words = text.lower()
    titles = (one.title.lower() for one in versions)
    return bool(versions) and (
        words in versions[0].document.lower() or any(words in title for title in titles)
    )


def _fits(one: Listed, view: View, day: date) -> bool:
    current = one.status(day) == "current"
    return {
        View.ALL: True,
        View.CITED: one.citations.cited > 0,
        View.NEVER: current and not one.citations.cited,
        View.EXPIRED: not current,
    }[view]


def _missing(document: str) -> DocumentMissing:
    return DocumentMissing(
        f"There is no document '{document}'.", remedy="Look for it in the list of documents."
    )
