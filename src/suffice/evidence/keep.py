"""Writing documents and versions, inside a transaction that the store has opened.

Nothing is deleted but passages that are cut anew: a changed content is a new version, a vanished
file is retired, and each change works out anew which versions are in force.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import date

from suffice.evidence.rows import NewVersion, dated, iso
from suffice.evidence.versions import in_force
from suffice.types import Kind


def save(connection: sqlite3.Connection, versions: Iterable[NewVersion], today: date) -> None:
    """Keeps new contents; the same content again only lifts a retirement."""
    families: set[str] = set()
    for version in versions:
        families |= _save(connection, version, today)
    _renew(connection, families)


def retire(
    connection: sqlite3.Connection,
    collection: str,
    documents: Iterable[str],
    today: date,
    by: str,
) -> None:
    families: set[str] = set()
    for name in documents:
        connection.execute(
            "UPDATE documents SET retired_on = ?, retired_by = ? WHERE collection = ? AND name = ?",
            (today.isoformat(), by, collection, name),
        )
        families |= _families(connection, collection, name)
    _renew(connection, families)


def kinds(connection: sqlite3.Connection, told: Mapping[int, Kind]) -> None:
    """Keeps the kinds of passages; a version with one that differs counts as changed."""
    change = _next_change(connection)
    connection.executemany(
        """UPDATE versions SET changed = ? WHERE id =
           (SELECT version_id FROM passages WHERE id = ? AND kind != ?)""",
        [(change, number, kind.value) for number, kind in told.items()],
    )
    connection.executemany(
        "UPDATE passages SET kind = ? WHERE id = ?",
        [(kind.value, number) for number, kind in told.items()],
    )


def _save(connection: sqlite3.Connection, new: NewVersion, today: date) -> set[str]:
    before = _families(connection, new.collection, new.document)
    document = connection.execute(
        """INSERT INTO documents (collection, name, root, stamp) VALUES (?, ?, ?, ?)
           ON CONFLICT (collection, name) DO UPDATE SET root = excluded.root,
           stamp = excluded.stamp, retired_on = NULL, retired_by = NULL RETURNING id""",
        (new.collection, new.document, new.root, new.stamp),
    ).fetchone()[0]
    newest = connection.execute(
        "SELECT id, key FROM versions WHERE document_id = ? ORDER BY sequence DESC LIMIT 1",
        (document,),
    ).fetchone()
    if newest and newest["key"] == new.key:
        _declare_anew(connection, new, newest["id"])
        _cut_anew(connection, new, newest["id"])
    else:
        _insert(connection, new, document, today)
    _inherit(connection, new, document)
    return before | {new.family}


def _inherit(connection: sqlite3.Connection, new: NewVersion, document: int) -> None:
    """Older contents of a file follow the newest in family and, where it has any, in labels:
    who may not read the newest content may not read the older ones either."""
    connection.execute(
        "UPDATE versions SET family = ? WHERE document_id = ?", (new.family, document)
    )
    if new.access:
        connection.execute(
            "UPDATE versions SET access = ?1, changed = ?2 WHERE document_id = ?3 AND access != ?1",
            (json.dumps(sorted(new.access)), _next_change(connection), document),
        )


def _declare_anew(connection: sqlite3.Connection, new: NewVersion, version: int) -> None:
    """What an earlier Suffice took down as the kind may not be what the document declares."""
    changed = connection.execute(
        "UPDATE versions SET kind = ?1, kinds_by = '', changed = ?2 WHERE id = ?3 AND kind != ?1",
        (_declared(new), _next_change(connection), version),
    ).rowcount
    if changed:
        kind = new.kind or Kind.FACT
        connection.execute(
            "UPDATE passages SET kind = ? WHERE version_id = ?", (kind.value, version)
        )


def _declared(new: NewVersion) -> str:
    return new.kind.value if new.kind else ""


def _cut_anew(connection: sqlite3.Connection, new: NewVersion, version: int) -> None:
    """The same content, cut in another way, gets other passages; the index is made anew."""
    cut = connection.execute(
        'SELECT "start", "end" FROM passages WHERE version_id = ? ORDER BY id', (version,)
    )
    if [tuple(row) for row in cut] != [(piece.start, piece.end) for piece in new.pieces]:
        connection.execute("DELETE FROM passages WHERE version_id = ?", (version,))
        _insert_passages(connection, new, version)
        connection.execute("UPDATE versions SET kinds_by = '' WHERE id = ?", (version,))
        connection.execute("UPDATE store SET epoch = epoch + 1")


def _insert(connection: sqlite3.Connection, new: NewVersion, document: int, today: date) -> None:
    version = connection.execute(
        """INSERT INTO versions (document_id, key, label, title, kind, access, effective,
           expires, family, text, content_hash, file_date, seen, sequence, force_from,
           force_until, changed) SELECT ?,?,?,?,?,?,?,?,?,?,?,?,?,
           coalesce(max(sequence), 0) + 1, '', '', 0 FROM versions RETURNING id""",
        (
            document, new.key, new.label, new.title, _declared(new),
            json.dumps(sorted(new.access)), iso(new.effective), iso(new.expires),
            new.family, new.text, new.content_hash, new.file_date.isoformat(), today.isoformat(),
        ),
    ).fetchone()[0]  # fmt: skip
    _insert_passages(connection, new, version)


def _insert_passages(connection: sqlite3.Connection, new: NewVersion, version: int) -> None:
    connection.executemany(
        """INSERT INTO passages (name, version_id, "start", "end", heading, page, text,
           kind, content_hash, input_hash) VALUES (?,?,?,?,?,?,?,?,?,?)""",
        (
            (
                f"{new.document}@{new.key}#{piece.start}-{piece.end}", version, piece.start,
                piece.end, json.dumps(piece.heading), piece.page,
                new.text[piece.start : piece.end], (new.kind or Kind.FACT).value, *hashes,
            )
            for piece, hashes in zip(new.pieces, new.hashes, strict=True)
        ),
    )  # fmt: skip


def _families(connection: sqlite3.Connection, collection: str, document: str) -> set[str]:
    rows = connection.execute(
        """SELECT DISTINCT family FROM versions v JOIN documents d ON d.id = v.document_id
           WHERE d.collection = ? AND d.name = ?""",
        (collection, document),
    )
    return {row["family"] for row in rows}


def _next_change(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT coalesce(max(changed), 0) + 1 FROM versions").fetchone()
    return int(row[0])


def _renew(connection: sqlite3.Connection, families: Iterable[str]) -> None:
    """Works out anew which versions are in force; only what changed gets a new number."""
    change = _next_change(connection)
    for name in families:
        rows = connection.execute(
            """SELECT v.*, d.retired_on, d.collection FROM versions v
               JOIN documents d ON d.id = v.document_id WHERE v.family = ?""",
            (name,),
        ).fetchall()
        for collection in {row["collection"] for row in rows}:
            line = [dated(row) for row in rows if row["collection"] == collection]
            connection.executemany(
                """UPDATE versions SET force_from = ?1, force_until = ?2, changed = ?3
                   WHERE id = ?4 AND (force_from, force_until) IS NOT (?1, ?2)""",
                [
                    (force.start.isoformat(), force.until.isoformat(), change, version)
                    for version, force in in_force(line).items()
                ],
            )
