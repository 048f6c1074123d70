"""Writes documents and versions within a transaction opened by the store.

Only passages that are split again are deleted. Changed content becomes a new version, a deleted
file is retired, and every change recomputes which versions are in force.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from suffice.evidence import tables as t
from suffice.evidence.rows import UPLOADED, NewVersion, Vectors, dated, iso, labels_in, labels_text
from suffice.evidence.versions import in_force
from suffice.sql import sa
from suffice.types import Kind

_PUT_VECTOR = sa.text(
    """INSERT INTO vectors (input_hash, model, vector) VALUES (:input_hash, :model, :vector)
       ON CONFLICT DO NOTHING"""
)
_PUT_DOCUMENT = sa.text(
    """INSERT INTO documents (collection, name, access, root, stamp)
       VALUES (:collection, :name, :access, :root, :stamp)
       ON CONFLICT (collection, name, access) DO UPDATE SET root = excluded.root,
       stamp = excluded.stamp, retired_on = NULL, retired_by = NULL RETURNING id"""
)
_DATED = sa.select(
    t.versions.c.id, t.versions.c.document_id, t.versions.c.key, t.versions.c.label,
    t.versions.c.effective, t.versions.c.expires, t.versions.c.seen, t.versions.c.sequence,
    t.documents.c.retired_on, t.documents.c.collection, t.documents.c.access,
).join_from(t.versions, t.documents, t.documents.c.id == t.versions.c.document_id)  # fmt: skip


def vectors(connection: sa.Connection, hashes: Sequence[str], made: Vectors, model: str) -> None:
    rows = [
        {"input_hash": hash, "model": model, "vector": vector.astype("<f4").tobytes()}
        for hash, vector in zip(hashes, made, strict=True)
    ]
    _each(connection, _PUT_VECTOR, rows)


def save(connection: sa.Connection, versions: Iterable[NewVersion], today: date) -> None:
    """Store new contents. Content that is unchanged is only restored if it was retired."""
    families: set[str] = set()
    for version in versions:
        families |= _save(connection, version, today)
    _renew(connection, families)


def touch(
    connection: sa.Connection, collection: str, unchanged: Mapping[str, tuple[str, str]]
) -> None:
    document = t.documents.c
    statement = (
        sa.update(t.documents)
        .where(document.collection == collection, document.name == sa.bindparam("document"))
        .values(root=sa.bindparam("at"), stamp=sa.bindparam("mark"))
    )
    rows = [
        {"document": name, "at": root, "mark": stamp} for name, (root, stamp) in unchanged.items()
    ]
    _each(connection, statement, rows)


def retire(
    connection: sa.Connection,
    collection: str,
    documents: Iterable[str],
    today: date,
    by: str,
    may_read: Callable[[str, frozenset[str]], bool],
) -> None:
    families: set[str] = set()
    for name in documents:
        named = connection.execute(_named(collection, name)).all()
        chosen = [
            one.id
            for one in named
            if may_read(collection, labels_in(one.access))
            and (by == "person" or one.root != UPLOADED)
        ]
        _retire(connection, chosen, today, by)
        families |= _families(connection, chosen)
    _renew(connection, families)


def _retire(connection: sa.Connection, documents: Sequence[int], today: date, by: str) -> None:
    """Retire documents that are not retired yet."""
    document = t.documents.c
    chosen = sa.update(t.documents).where(document.id.in_(documents), document.retired_on.is_(None))
    connection.execute(chosen.values(retired_on=today.isoformat(), retired_by=by))


def _named(collection: str, name: str) -> sa.Select[Any]:
    """The documents of a name, whatever their labels."""
    of_it = (t.documents.c.collection == collection, t.documents.c.name == name)
    return sa.select(t.documents.c.id, t.documents.c.access, t.documents.c.root).where(*of_it)


def _save(connection: sa.Connection, new: NewVersion, today: date) -> set[str]:
    row = {
        "collection": new.collection, "name": new.document, "access": labels_text(new.access),
        "root": new.root, "stamp": new.stamp,
    }  # fmt: skip
    document = int(connection.execute(_PUT_DOCUMENT, row).scalar_one())
    before = _families(connection, [document])
    if new.root != UPLOADED:
        before |= _relabel(connection, new, document, today)
    newest = connection.execute(
        sa.select(t.versions.c.id, t.versions.c.key)
        .where(t.versions.c.document_id == document)
        .order_by(t.versions.c.sequence.desc())
        .limit(1)
    ).first()
    if newest and newest.key == new.key:
        _replace_passages(connection, new, newest.id)
    else:
        _insert(connection, new, document, today)
    of_it = t.versions.c.document_id == document
    connection.execute(sa.update(t.versions).where(of_it).values(family=new.family))
    return before | {new.family}


def _relabel(connection: sa.Connection, new: NewVersion, document: int, today: date) -> set[str]:
    """A file has one set of labels. Its older contents get labels that are new: callers who may not
    read the newest content may not read older contents either. If the file becomes public, older
    contents keep their labels and are retired. Uploads of the same name are other documents.
    Return the families of the older contents."""
    named = connection.execute(_named(new.collection, new.document)).all()
    others = [one.id for one in named if one.id != document and one.root != UPLOADED]
    if not others:
        return set()
    families = _families(connection, others)
    if new.access:
        older = t.versions.c.document_id.in_(others)
        moved = sa.update(t.versions).where(older)
        connection.execute(moved.values(document_id=document, changed=_next_change(connection)))
        connection.execute(sa.delete(t.documents).where(t.documents.c.id.in_(others)))
    else:
        _retire(connection, others, today, "vanished")
    return families


def _replace_passages(connection: sa.Connection, new: NewVersion, version: int) -> None:
    """Replace the passages of unchanged content that is now split differently. The index is
    rebuilt."""
    of_it = t.passages.c.version_id == version
    place = (t.passages.c.start, t.passages.c.end)
    cut = connection.execute(sa.select(*place).where(of_it).order_by(t.passages.c.id))
    if [tuple(row) for row in cut] == [(piece.start, piece.end) for piece in new.pieces]:
        return
    connection.execute(sa.delete(t.passages).where(of_it))
    _insert_passages(connection, new, version)
    connection.execute(sa.update(t.store).values(epoch=t.store.c.epoch + 1))


def _insert(connection: sa.Connection, new: NewVersion, document: int, today: date) -> None:
    last = sa.select(sa.func.coalesce(sa.func.max(t.versions.c.sequence), 0)).scalar_subquery()
    row = {
        "document_id": document, "key": new.key, "label": new.label, "title": new.title,
        "kind": (new.kind or Kind.FACT).value, "effective": iso(new.effective),
        "expires": iso(new.expires), "family": new.family, "text": new.text,
        "content_hash": new.content_hash, "file_date": new.file_date.isoformat(),
        "seen": today.isoformat(), "force_from": "", "force_until": "", "changed": 0,
    }  # fmt: skip
    made = sa.insert(t.versions).values(**row, sequence=last + 1).returning(t.versions.c.id)
    _insert_passages(connection, new, connection.execute(made).scalar_one())


def _insert_passages(connection: sa.Connection, new: NewVersion, version: int) -> None:
    rows = [
        {
            "name": f"{new.document}@{new.key}#{piece.start}-{piece.end}", "version_id": version,
            "start": piece.start, "end": piece.end, "heading": json.dumps(piece.heading),
            "page": piece.page, "text": new.text[piece.start : piece.end],
            "content_hash": content, "input_hash": embedded,
        }
        for piece, (content, embedded) in zip(new.pieces, new.hashes, strict=True)
    ]  # fmt: skip
    _each(connection, sa.insert(t.passages), rows)


def _families(connection: sa.Connection, documents: Sequence[int]) -> set[str]:
    found = sa.select(t.versions.c.family).where(t.versions.c.document_id.in_(documents))
    return set(connection.scalars(found.distinct()))


def _next_change(connection: sa.Connection) -> int:
    last = sa.select(sa.func.coalesce(sa.func.max(t.versions.c.changed), 0))
    return int(connection.execute(last).scalar_one()) + 1


FORCE_RULE = 1
"""The number of the rule by which `_renew` computes the days in force."""


def renew_forces(connection: sa.Connection) -> None:
    """Compute the days in force of all versions again."""
    rule = t.store.c.force_rule
    if int(connection.execute(sa.select(rule)).scalar_one()) < FORCE_RULE:  # no process was first
        _renew(connection, set(connection.scalars(sa.select(t.versions.c.family).distinct())))
        connection.execute(sa.update(t.store).values(force_rule=FORCE_RULE))


def _renew(connection: sa.Connection, families: Iterable[str]) -> None:
    """Recompute which versions are in force. Only versions with equal labels supersede each other,
    so that nobody loses a version to one that they may not read. Only changed versions get a new
    change number."""
    number, version = _next_change(connection), t.versions.c
    since: sa.BindParameter[str] = sa.bindparam("since")
    until: sa.BindParameter[str] = sa.bindparam("until")
    statement = (
        sa.update(t.versions)
        .where(version.id == sa.bindparam("version"))
        .where(sa.or_(version.force_from != since, version.force_until != until))
        .values(force_from=since, force_until=until, changed=number)
    )
    for name in families:
        rows = connection.execute(_DATED.where(version.family == name)).mappings().all()
        for alike in {(row["collection"], row["access"]) for row in rows}:
            line = [dated(row) for row in rows if (row["collection"], row["access"]) == alike]
            forces = [
                {
                    "version": id,
                    "since": force.start.isoformat(),
                    "until": force.until.isoformat(),
                }
                for id, force in in_force(line).items()
            ]
            _each(connection, statement, forces)


def _each(
    connection: sa.Connection, statement: sa.Executable, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Run the statement for each row. Without rows, SQLAlchemy would run it once."""
    if rows:
        connection.execute(statement, rows)
