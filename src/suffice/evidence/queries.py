"""SQL statements for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suffice.evidence.tables import documents as d
from suffice.evidence.tables import passages as p
from suffice.evidence.tables import vectors as x
from suffice.evidence.tables import versions as v
from suffice.sql.toolkit import ColumnElement, Select, bindparam, exists, func, holds, or_, select

Query = Select[Any]

PASSAGE: Query = (
    select(
        p.c.id, p.c.name, p.c.text, p.c.start, p.c.end, p.c.heading, p.c.page, p.c.content_hash,
        p.c.input_hash, v.c.kind, v.c.label, v.c.title, d.c.access, v.c.effective, v.c.expires,
        v.c.force_from, v.c.force_until, v.c.family, d.c.name.label("document"), d.c.collection,
    )
    .join_from(p, v, v.c.id == p.c.version_id)
    .join(d, d.c.id == v.c.document_id)
)  # fmt: skip

# Built once: these run for every question, and take longer to build than to run.
NUMBERED: Query = PASSAGE.where(p.c.id.in_(bindparam("keys", expanding=True)))
NAMED: Query = PASSAGE.where(p.c.name.in_(bindparam("keys", expanding=True)))

_VERSION: Query = select(
    d.c.name, d.c.collection, d.c.retired_on,
    v.c.label, v.c.key, v.c.title, d.c.access, v.c.effective, v.c.expires, v.c.seen,
    v.c.file_date, v.c.force_from, v.c.force_until,
    select(func.count()).where(p.c.version_id == v.c.id).scalar_subquery().label("passages"),
    v.c.kind,
).join_from(v, d, d.c.id == v.c.document_id)  # fmt: skip


def versions(collection: str | None, document: str | None) -> Query:
    """All versions, oldest first within a document."""
    wanted: list[ColumnElement[bool]] = []
    if collection is not None:
        wanted.append(d.c.collection == collection)
    if document is not None:
        wanted.append(d.c.name == document)
    return _VERSION.where(*wanted).order_by(d.c.collection, d.c.name, v.c.sequence)


def names(collection: str, after: str, text: str, most: int) -> Query:
    """Names of documents after one, in order, whose name or a title of which contains a text."""
    found = select(d.c.name).where(d.c.collection == collection, d.c.name > after)
    if text:
        titled = exists().where(v.c.document_id == d.c.id, holds(v.c.title, text.lower()))
        found = found.where(or_(holds(d.c.name, text.lower()), titled))
    return found.order_by(d.c.name).limit(most)


def versions_of(collection: str, names: Sequence[str]) -> Query:
    """All versions of some documents, oldest first within a document."""
    wanted = _VERSION.where(d.c.collection == collection, d.c.name.in_(names))
    return wanted.order_by(d.c.name, v.c.sequence)


def expiring(collections: Sequence[str] | None, since: str, until: str) -> Query:
    """Versions that expire from one day to another, both included, earliest first. `None`: of all
    collections."""
    wanted = _VERSION.where(v.c.expires >= since, v.c.expires <= until)
    if collections is not None:
        wanted = wanted.where(d.c.collection.in_(collections))
    return wanted.order_by(v.c.expires, d.c.name)


def history(collection: str, document: str) -> Query:
    """All versions in the families of a document, whatever their files. Versions with other labels
    than a document of this name belong to no family of it."""
    w, e = v.alias(), d.alias()
    named = (
        select(w.c.family)
        .join_from(w, e, e.c.id == w.c.document_id)
        .where(e.c.collection == collection, e.c.name == document)
    )
    alike = named.where(w.c.family == v.c.family, e.c.access == d.c.access).exists()
    found = _VERSION.where(d.c.collection == collection, v.c.family.in_(named), alike)
    return found.order_by(d.c.collection, d.c.name, v.c.sequence)


def known(collection: str) -> Query:
    """Every content of each document, newest last."""
    return (
        select(d.c.name, d.c.access, d.c.root, d.c.stamp, d.c.retired_on, d.c.retired_by, v.c.key)
        .join_from(d, v, v.c.document_id == d.c.id)
        .where(d.c.collection == collection)
        .order_by(v.c.sequence)
    )


def text_of(collection: str, document: str, key: str, access: str | None) -> Query:
    """The source text of a version; `access`: of the document with exactly these labels."""
    labels = [] if access is None else [d.c.access == access]
    return (
        select(v.c.text)
        .join_from(v, d, d.c.id == v.c.document_id)
        .where(d.c.collection == collection, d.c.name == document, v.c.key == key, *labels)
    )


def within(document: str, key: str, start: int, end: int) -> Query:
    """The passages of a version that stand in a part of its text, in order."""
    named = d.c.name == document, v.c.key == key
    return PASSAGE.where(*named, p.c.start >= start, p.c.end <= end).order_by(p.c.id)


def source(number: int, start: int, end: int) -> Query:
    """A part of the text of the version that a passage is of."""
    part = func.substr(v.c.text, start + 1, end - start)
    return select(part).join_from(v, p, p.c.version_id == v.c.id).where(p.c.id == number)


def label_sets(collection: str | None) -> Query:
    """The different label sets of documents, with their collections."""
    found = select(d.c.collection, d.c.access).distinct().order_by(d.c.collection, d.c.access)
    return found if collection is None else found.where(d.c.collection == collection)


def titled(collection: str, words: Sequence[str], access: Sequence[str], most: int) -> Query:
    """The first passage of each version with one of these label sets whose title contains all of
    the words."""
    q = p.alias()
    first = (
        select(func.min(q.c.id))
        .join_from(q, v, v.c.id == q.c.version_id)
        .join(d, d.c.id == v.c.document_id)
        .where(d.c.collection == collection, d.c.access.in_(access))
        .where(*(holds(v.c.title, word.lower()) for word in words))
        .group_by(v.c.id)
    )
    return PASSAGE.where(p.c.id.in_(first)).order_by(p.c.id).limit(most)


def holding(
    collection: str, phrase: str, names: Sequence[str], access: Sequence[str], most: int
) -> Query:
    """Passages with a phrase in their text or headings, in the given documents or in all with one
    of these label sets."""
    phrase = phrase.lower()
    of = [d.c.name.in_(names)] if names else []
    return (
        PASSAGE.where(d.c.collection == collection, d.c.access.in_(access), *of)
        .where(or_(holds(p.c.text, phrase), holds(p.c.heading, phrase)))
        .order_by(p.c.id)
        .limit(most)
    )


def without_vector(model: str) -> ColumnElement[bool]:
    """The condition that the model has not embedded a passage."""
    return ~exists().where(x.c.input_hash == p.c.input_hash, x.c.model == model)


def with_vector(model: str) -> Query:
    """Passages that the model has embedded, with their vectors."""
    has = (x.c.input_hash == p.c.input_hash) & (x.c.model == model)
    return PASSAGE.add_columns(x.c.vector).join(x, has)


def count_passages(*wanted: ColumnElement[bool]) -> Query:
    """The number of passages that match a condition."""
    return select(func.count()).select_from(p.join(v, v.c.id == p.c.version_id)).where(*wanted)
