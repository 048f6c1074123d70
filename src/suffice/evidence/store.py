"""The store: documents, versions, passages and vectors in one database. SQL is the source of truth;
the search index is derived from it and can be rebuilt at any time.

Many processes may read, but only one at a time may write (`alone`). Nothing is ever deleted: a
changed file gets a new version, and a deleted file is retired.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from suffice.errors import DocumentMissing
from suffice.evidence import rows as read
from suffice.evidence import writes as keep
from suffice.evidence.rows import UPLOADED, Known, NewVersion, StoredPassage, Vectors, VersionInfo
from suffice.evidence.split import spanning
from suffice.evidence.tables import documents as d
from suffice.evidence.tables import passages as p
from suffice.evidence.tables import store as store_row
from suffice.evidence.tables import vectors as x
from suffice.evidence.tables import versions as v
from suffice.sql import sa
from suffice.sql.database import Database
from suffice.sql.statements import holds
from suffice.text.storable import is_storable
from suffice.types import Passage


def cache_folder() -> Path:
    """The user's cache folder, for data that can be rebuilt."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "suffice"


def index_folder(database: Database, named: str, id: Callable[[], str]) -> Path:
    """The index folder: as configured, or else beside a SQLite file or in the user's cache."""
    if named:
        return Path(named) / id()
    if database.path is None:
        return cache_folder() / f"{id()}.index"
    return database.path.with_name(database.path.name + ".index")


Query = sa.Select[Any]

_PASSAGES: Query = (
    sa.select(
        p.c.id, p.c.name, p.c.text, p.c.start, p.c.end, p.c.heading, p.c.page, p.c.content_hash,
        p.c.input_hash, v.c.kind, v.c.label, v.c.title, d.c.access, v.c.effective, v.c.expires,
        v.c.force_from, v.c.force_until, v.c.family, d.c.name.label("document"), d.c.collection,
    )
    .join_from(p, v, v.c.id == p.c.version_id)
    .join(d, d.c.id == v.c.document_id)
)  # fmt: skip

# Built once: these run for every question, and take longer to build than to run.
_NUMBERED: Query = _PASSAGES.where(p.c.id.in_(sa.bindparam("keys", expanding=True)))
_NAMED: Query = _PASSAGES.where(p.c.name.in_(sa.bindparam("keys", expanding=True)))

_VERSIONS: Query = sa.select(
    d.c.name, d.c.collection, d.c.retired_on,
    v.c.label, v.c.key, v.c.title, d.c.access, v.c.effective, v.c.expires, v.c.seen,
    v.c.file_date, v.c.force_from, v.c.force_until,
    sa.select(sa.func.count()).where(p.c.version_id == v.c.id).scalar_subquery().label("passages"),
    v.c.kind,
).join_from(v, d, d.c.id == v.c.document_id)  # fmt: skip

_OLDEST_FIRST = (d.c.collection, d.c.name, v.c.sequence)
_KEYS_A_QUERY = 500
_SPAN = re.compile(
    r"(?P<document>.*)@(?P<key>[^@#]*)#(?P<start>\d{1,12})-(?P<end>\d{1,12})", re.DOTALL
)
MayUse = Callable[[str, frozenset[str]], bool]
"""Whether documents of a collection with these access labels may be used."""


def anything(collection: str, labels: frozenset[str]) -> bool:
    return True


def _rank(known: Known) -> tuple[bool, bool]:
    return known.root == UPLOADED, known.retired


def _label_sets(collection: str | None) -> Query:
    """The different label sets of documents, with their collections."""
    query = sa.select(d.c.collection, d.c.access).distinct().order_by(d.c.collection, d.c.access)
    return query if collection is None else query.where(d.c.collection == collection)


def _without_vector(model: str) -> sa.ColumnElement[bool]:
    """The condition that the model has not embedded a passage."""
    return ~sa.exists().where(x.c.input_hash == p.c.input_hash, x.c.model == model)


class Store:
    """Documents and their versions. Opened by `Store.open`; safe to share between threads."""

    def __init__(self, database: Database, index: str = "") -> None:
        self.database = database
        self._index = index

    @classmethod
    def open(
        cls, where: str | Path, *, create: bool = False, wait: float = 60.0, index: str = ""
    ) -> Store:
        """Open the store at a path or PostgreSQL URL, and create it if `create` is set. `index`
        overrides the folder for search indexes."""
        opened = cls(Database.open(where, create=create, wait=wait), index)
        opened._renew_forces()
        return opened

    def close(self) -> None:
        self.database.close()

    @property
    def where(self) -> str:
        """The path or URL, safe to display."""
        return self.database.where

    @property
    def index(self) -> Path:
        """The folder of the search index."""
        return index_folder(self.database, self._index, lambda: self.id)

    def alone(self, wait: float) -> AbstractContextManager[None]:
        """Hold the writer lock, so that only one process at a time indexes documents."""
        return self.database.alone(wait)

    # Reading

    @property
    def id(self) -> str:
        """The id of the store. Passage numbers are unique within a store."""
        return str(self._value(sa.select(store_row.c.id)))

    @property
    def epoch(self) -> int:
        """Incremented when passages are split again, which causes the index to be rebuilt."""
        return self._number(sa.select(store_row.c.epoch))

    def collections(self, may_read: MayUse = anything) -> list[str]:
        """The names of the collections that contain documents of which `may_read` is true."""
        pairs = (
            (row["collection"], read.labels_in(row["access"]))
            for row in self._rows(_label_sets(None))
        )
        return list(dict.fromkeys(name for name, labels in pairs if may_read(name, labels)))

    def known(self, collection: str, access: frozenset[str] | None = None) -> dict[str, Known]:
        """Every document of a collection with its newest content; with `access`, only those with
        exactly these labels. Of several documents of one name, an indexed file comes before an
        upload, and one that is not retired before the others."""
        newest: dict[tuple[str, frozenset[str]], Known] = {}
        columns = (d.c.name, d.c.access, d.c.root, d.c.stamp, d.c.retired_on, d.c.retired_by)
        query = sa.select(*columns, v.c.key).join_from(d, v, v.c.document_id == d.c.id)
        for row in self._rows(query.where(d.c.collection == collection).order_by(v.c.sequence)):
            known = read.known(row)
            if access is None or known.access == access:
                newest[row["name"], known.access] = known
        found: dict[str, Known] = {}
        for (name, _), known in newest.items():
            if name not in found or _rank(known) < _rank(found[name]):
                found[name] = known
        return found

    def versions(
        self, *, collection: str | None = None, document: str | None = None
    ) -> list[VersionInfo]:
        """All versions, oldest first within a document."""
        wanted: list[sa.ColumnElement[bool]] = []
        if collection is not None:
            wanted.append(d.c.collection == collection)
        if document is not None:
            wanted.append(d.c.name == document)
        return self._versions(_VERSIONS.where(*wanted).order_by(*_OLDEST_FIRST), document)

    def listed(self, collection: str, after: str, text: str, most: int) -> list[list[VersionInfo]]:
        """Documents after a name, in order, each with its versions; `text` must occur in the name
        or in one of the titles."""
        if not is_storable(text) or not is_storable(after):
            return []
        names = sa.select(d.c.name).where(d.c.collection == collection, d.c.name > after)
        if text:
            titled = sa.exists().where(v.c.document_id == d.c.id, holds(v.c.title, text.lower()))
            names = names.where(sa.or_(holds(d.c.name, text.lower()), titled))
        rows = self._rows(names.order_by(d.c.name).limit(most))
        listed: dict[str, list[VersionInfo]] = {row["name"]: [] for row in rows}
        query = _VERSIONS.where(d.c.collection == collection, d.c.name.in_(list(listed)))
        for row in self._rows(query.order_by(*_OLDEST_FIRST)):
            listed[row["name"]].append(read.version_info(row))
        return list(listed.values())

    def expiring(
        self, collections: Sequence[str] | None, since: date, until: date
    ) -> list[VersionInfo]:
        """Versions that expire from one day to another, both included, earliest first. `None`: of
        all collections."""
        days = v.c.expires >= since.isoformat(), v.c.expires <= until.isoformat()
        query = _VERSIONS.where(*days)
        if collections is not None:
            query = query.where(d.c.collection.in_(collections))
        rows = self._rows(query.order_by(v.c.expires, d.c.name))
        return [read.version_info(row) for row in rows]

    def history(self, collection: str, document: str) -> list[VersionInfo]:
        """All versions of a document, oldest first, including versions in other files. Versions
        with other labels than a document of this name belong to no family of it."""
        w, e = v.alias(), d.alias()
        families = (
            sa.select(w.c.family)
            .join_from(w, e, e.c.id == w.c.document_id)
            .where(e.c.collection == collection, e.c.name == document)
        )
        alike = families.where(w.c.family == v.c.family, e.c.access == d.c.access).exists()
        query = _VERSIONS.where(d.c.collection == collection, v.c.family.in_(families), alike)
        versions = self._versions(query.order_by(*_OLDEST_FIRST), document)
        return sorted(versions, key=lambda version: version.force_from)

    def _versions(self, query: Query, document: str | None) -> list[VersionInfo]:
        rows = self._rows(query)
        if document is not None and not rows:
            raise DocumentMissing(
                f"There is no document '{document}' in {self.where}.",
                remedy="Run: suffice documents list",
            )
        return [read.version_info(row) for row in rows]

    def text(
        self, collection: str, document: str, key: str, access: frozenset[str] | None = None
    ) -> str:
        """The source text of one version, as stored; `access` are the labels of the document, if
        several have this name."""
        labels = [] if access is None else [d.c.access == read.labels_text(access)]
        named = d.c.collection == collection, d.c.name == document, v.c.key == key
        query = sa.select(v.c.text).join_from(v, d, d.c.id == v.c.document_id)
        rows = self._rows(query.where(*named, *labels))
        if not rows:
            raise DocumentMissing(
                f"There is no version '{key}' of '{document}'.",
                remedy=f"Run: suffice documents history {document}",
            )
        return str(rows[0]["text"])

    def passages(self, numbers: Sequence[int]) -> dict[int, Passage]:
        """Passages by their numbers in the index."""
        rows = self._keyed(_NUMBERED, numbers)
        return {row["id"]: read.passage(row) for row in rows}

    def source(self, number: int, start: int, end: int) -> str:
        """A part of the text of the document version that a passage, given by its number, is of."""
        part = sa.select(sa.func.substr(v.c.text, start + 1, end - start))
        joined = part.join_from(v, p, p.c.version_id == v.c.id)
        return str(self._value(joined.where(p.c.id == number)))

    def lookup(self, ids: Sequence[str], may_read: MayUse = anything) -> dict[str, Passage]:
        """Passages by public id, for citation checks, without unknown ids and those of documents of
        which `may_read` is false. Equal contents of one name have equal ids, whatever their
        labels. An id may name several passages that follow each other."""
        ids = [id for id in ids if is_storable(id)]
        found = self._readable(self._keyed(_NAMED, ids), may_read)
        known = {passage.id: passage for passage in found.values()}
        joined = ((id, self._joined(id, may_read)) for id in ids if id not in known)
        return known | {id: passage for id, passage in joined if passage}

    def _joined(self, id: str, may_read: MayUse) -> Passage | None:
        """The passages that an id names together, as one."""
        named = _SPAN.fullmatch(id)
        if named is None:
            return None
        start, end = int(named["start"]), int(named["end"])
        version = d.c.name == named["document"], v.c.key == named["key"]
        query = _PASSAGES.where(*version, p.c.start >= start, p.c.end <= end)
        found = self._readable(self._rows(query.order_by(p.c.id)), may_read)
        number, first = next(iter(found.items()), (0, None))
        if first is None:
            return None
        members = [one for one in found.values() if one.access == first.access]
        joined = spanning(members, start, self.source(number, start, end))
        return joined if joined.id == id else None

    def _readable(self, rows: Iterable[sa.RowMapping], may_read: MayUse) -> dict[int, Passage]:
        found = {row["id"]: read.passage(row) for row in rows}
        return {n: one for n, one in found.items() if may_read(one.collection, one.access)}

    def titled(
        self,
        collection: str,
        words: Sequence[str],
        most: int = 20,
        may_read: MayUse = anything,
    ) -> list[Passage]:
        """The first passage of each version whose title contains all of the words. Documents of
        which `may_read` is false do not count."""
        if not all(map(is_storable, words)):
            return []
        q = p.alias()
        first = (
            sa.select(sa.func.min(q.c.id))
            .join_from(q, v, v.c.id == q.c.version_id)
            .join(d, d.c.id == v.c.document_id)
            .where(d.c.collection == collection)
            .where(d.c.access.in_(self._label_sets(collection, may_read)))
            .where(*(holds(v.c.title, word.lower()) for word in words))
            .group_by(v.c.id)
        )
        query = _PASSAGES.where(p.c.id.in_(first)).order_by(p.c.id).limit(most)
        return [read.passage(row) for row in self._rows(query)]

    def holding(
        self,
        collection: str,
        phrase: str,
        documents: Sequence[str] = (),
        most: int = 100,
        may_read: MayUse = anything,
    ) -> list[Passage]:
        """Passages with a phrase in their text or headings, in the given documents or in all.
        Documents of which `may_read` is false do not count."""
        if not is_storable(phrase):
            return []
        phrase = phrase.lower()
        query = _PASSAGES.where(
            d.c.collection == collection,
            d.c.access.in_(self._label_sets(collection, may_read)),
            sa.or_(holds(p.c.text, phrase), holds(p.c.heading, phrase)),
        )
        if documents:
            query = query.where(d.c.name.in_(documents))
        rows = self._rows(query.order_by(p.c.id).limit(most))
        return [read.passage(row) for row in rows]

    def _label_sets(self, collection: str, may_read: MayUse) -> list[str]:
        """The stored label sets of the documents that `may_read` allows. The database applies them
        before it counts results, so that other documents do not take up places."""
        return [
            row["access"]
            for row in self._rows(_label_sets(collection))
            if may_read(collection, read.labels_in(row["access"]))
        ]

    def unembedded(self, model: str, batch: int) -> Iterator[list[tuple[str, Passage]]]:
        """Passages without a vector from this model, each with the hash of its text to embed."""
        for rows in self._batches(_PASSAGES.where(_without_vector(model)), batch):
            yield [(row["input_hash"], read.passage(row)) for row in rows]

    def count_unembedded(self, model: str) -> int:
        """The number of passages that the model has not embedded yet."""
        return self._count(_without_vector(model))

    def last_change(self) -> int:
        """The number of the newest change."""
        return self._number(sa.select(sa.func.coalesce(sa.func.max(v.c.changed), 0)))

    def has_vectors(self, model: str) -> bool:
        wanted = x.c.model == model
        return bool(self._rows(sa.select(x.c.model).where(wanted).limit(1)))

    def last_vector(self) -> int:
        """The number of the newest vector."""
        return self._number(sa.select(sa.func.coalesce(sa.func.max(x.c.rowid), 0)))

    def count_changes(self, since: int) -> int:
        """The number of passages that `changes` would return."""
        return self._count(v.c.changed > since)

    def changes(self, since: int, model: str, batch: int = 500) -> Iterator[list[StoredPassage]]:
        """The passages of all versions changed after `since`, with vectors, in batches."""
        embedded = (x.c.input_hash == p.c.input_hash) & (x.c.model == model)
        query = _PASSAGES.add_columns(x.c.vector).join(x, embedded).where(v.c.changed > since)
        for rows in self._batches(query, batch):
            yield [read.stored(row) for row in rows]

    # Writing

    def put_vectors(self, hashes: Sequence[str], vectors: Vectors, model: str) -> None:
        """Store vectors by the hash of the embedded text, so that equal text is embedded once."""
        with self._writing() as connection:
            keep.vectors(connection, hashes, vectors, model)

    def save(self, versions: Iterable[NewVersion], today: date) -> None:
        """Store new contents in one transaction. Contents that they replace become superseded."""
        with self._writing() as connection:
            keep.save(connection, versions, today)

    def touch(self, collection: str, unchanged: Mapping[str, tuple[str, str]]) -> None:
        """Update the root and stamps of unchanged files."""
        with self._writing() as connection:
            keep.touch(connection, collection, unchanged)

    def retire(
        self,
        collection: str,
        documents: Iterable[str],
        today: date,
        *,
        by: str = "vanished",
        may_read: MayUse = anything,
    ) -> None:
        """Retire documents from today on, as far as `may_read` allows. Their versions stay in the
        history. A file that vanished retires no upload of its name."""
        with self._writing() as connection:
            keep.retire(connection, collection, documents, today, by, may_read)

    def _renew_forces(self) -> None:
        """Compute the days in force again if another rule computed those that are stored."""
        if self._number(sa.select(store_row.c.force_rule)) >= keep.FORCE_RULE:
            return
        with self._writing() as connection:
            keep.renew_forces(connection)

    @contextmanager
    def _writing(self) -> Iterator[sa.Connection]:
        with self.database.writing() as connection:
            # Changes get sequential numbers even if a lost connection has released the writer lock.
            connection.execute(sa.select(store_row.c.id).with_for_update())
            yield connection

    def _rows(self, query: Query, **values: object) -> Sequence[sa.RowMapping]:
        with self.database.reading() as connection:
            return connection.execute(query, values).mappings().all()

    def _value(self, query: Query) -> object:
        with self.database.reading() as connection:
            return connection.execute(query).scalar_one()

    def _number(self, query: Query) -> int:
        return int(str(self._value(query)))

    def _count(self, wanted: sa.ColumnElement[bool]) -> int:
        """The number of passages that match a condition."""
        passages = sa.select(sa.func.count()).select_from(p.join(v, v.c.id == p.c.version_id))
        return self._number(passages.where(wanted))

    def _batches(self, query: Query, size: int) -> Iterator[Sequence[sa.RowMapping]]:
        """Passages by number. Writes between batches may change which passages follow."""
        last, number = 0, p.c.id
        while rows := self._rows(query.where(number > last).order_by(number).limit(size)):
            last = rows[-1]["id"]
            yield rows

    def _keyed(self, query: Query, keys: Sequence[object]) -> Iterator[sa.RowMapping]:
        """Look up `keys` in batches small enough for the database."""
        for first in range(0, len(keys), _KEYS_A_QUERY):
            yield from self._rows(query, keys=keys[first : first + _KEYS_A_QUERY])
