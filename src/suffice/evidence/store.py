"""The store: documents, versions, passages and vectors in one SQLite file. SQL is the truth;
the search index is derived from it and can be rebuilt at any time.

Several processes may read; one at a time writes (see `lock.py`). Nothing is ever deleted: a
changed file gets a new version, a vanished one is retired.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from suffice.errors import DocumentMissing, StoreMissing
from suffice.evidence import keep
from suffice.evidence import rows as read
from suffice.evidence.database import connect, transaction, translated
from suffice.evidence.rows import Known, NewVersion, StoredPassage, Vectors, VersionInfo
from suffice.types import Kind, Passage

_PASSAGE = """
    SELECT p.id, p.name, p.text, p."start", p."end", p.heading, p.page, p.content_hash,
           p.input_hash, p.kind, v.label, v.title, v.access, v.effective, v.expires,
           v.force_from, v.force_until, v.family, d.name AS document, d.collection
    FROM passages p JOIN versions v ON v.id = p.version_id JOIN documents d ON d.id = v.document_id
"""
# The kind a document declares, else that of most of its passages.
_SHOWN_KIND = """coalesce(nullif(v.kind, ''), (SELECT p.kind FROM passages p
    WHERE p.version_id = v.id GROUP BY p.kind ORDER BY count(*) DESC, p.kind LIMIT 1), 'fact')"""


class Store:
    """Documents and their versions. Made by `Store.open`; safe to share between threads."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()

    @classmethod
    def open(cls, path: str | Path, *, create: bool = False, wait: float = 60.0) -> Store:
        """The store at a path; with `create`, made where there is none."""
        path = Path(path)
        if not create and not path.is_file():
            raise StoreMissing(
                f"There is no store at {path}.",
                remedy="Run: suffice index FOLDER, or ask with --docs FOLDER.",
            )
        return cls(path, connect(path, wait))

    def close(self) -> None:
        self._connection.close()

    # Reading

    @property
    def id(self) -> str:
        """Which store this is; passages are numbered within one."""
        return str(self._rows("SELECT id FROM store")[0]["id"])

    @property
    def epoch(self) -> int:
        """Counts up when passages are cut anew; the index is then made anew."""
        return int(self._rows("SELECT epoch FROM store")[0]["epoch"])

    def collections(self) -> list[str]:
        """The names of the collections that hold documents."""
        rows = self._rows("SELECT DISTINCT collection FROM documents ORDER BY collection")
        return [row["collection"] for row in rows]

    def known(self, collection: str) -> dict[str, Known]:
        """Every document of a collection with its newest content."""
        rows = self._rows(
            """SELECT d.name, d.root, d.stamp, d.retired_on, d.retired_by, v.key FROM documents d
               JOIN versions v ON v.document_id = d.id
               WHERE d.collection = ? ORDER BY v.sequence""",
            collection,
        )
        return {
            row["name"]: Known(
                row["root"],
                row["stamp"],
                row["key"],
                row["retired_on"] is not None,
                row["retired_by"] == "person",
            )
            for row in rows
        }

    def versions(
        self, *, collection: str | None = None, document: str | None = None
    ) -> list[VersionInfo]:
        """All versions, oldest first within a document."""
        where = "(?1 IS NULL OR d.collection = ?1) AND (?2 IS NULL OR d.name = ?2)"
        return self._versions(where, collection, document)

    def history(self, collection: str, document: str) -> list[VersionInfo]:
        """All versions of a document, those that other files hold among them, oldest first."""
        where = """d.collection = ?1 AND v.family IN (SELECT family FROM versions w
                   JOIN documents e ON e.id = w.document_id
                   WHERE e.collection = ?1 AND e.name = ?2)"""
        found = self._versions(where, collection, document)
        return sorted(found, key=lambda version: version.force_from)

    def _versions(
        self, where: str, collection: str | None, document: str | None
    ) -> list[VersionInfo]:
        rows = self._rows(
            f"""SELECT d.name, d.collection, d.retired_on, v.*,
                       (SELECT count(*) FROM passages p WHERE p.version_id = v.id) AS passages,
                       {_SHOWN_KIND} AS shown_kind
                FROM versions v JOIN documents d ON d.id = v.document_id
                WHERE {where} ORDER BY d.collection, d.name, v.sequence""",
            collection,
            document,
        )
        if document is not None and not rows:
            raise DocumentMissing(
                f"There is no document '{document}' in {self.path}.",
                remedy="Run: suffice documents list",
            )
        return [read.version_info(row) for row in rows]

    def text(self, collection: str, document: str, key: str) -> str:
        """The source text of one version, as stored."""
        rows = self._rows(
            """SELECT v.text FROM versions v JOIN documents d ON d.id = v.document_id
               WHERE d.collection = ? AND d.name = ? AND v.key = ?""",
            collection,
            document,
            key,
        )
        if not rows:
            raise DocumentMissing(
                f"There is no version '{key}' of '{document}'.",
                remedy=f"Run: suffice documents history {document}",
            )
        return str(rows[0]["text"])

    def passages(self, numbers: Sequence[int]) -> dict[int, Passage]:
        """Passages by their number in the index."""
        return {
            row["id"]: read.passage(row) for row in self._in(f"{_PASSAGE} WHERE p.id IN", numbers)
        }

    def lookup(self, ids: Sequence[str]) -> dict[str, Passage]:
        """Passages by their public id, for citation checks; unknown ids are left out."""
        rows = self._in(f"{_PASSAGE} WHERE p.name IN", ids)
        return {row["name"]: read.passage(row) for row in rows}

    def titled(self, collection: str, words: Sequence[str], most: int = 20) -> list[Passage]:
        """The first passage of each version whose title holds all of the words."""
        title = "".join(" AND instr(lower(v.title), ?) > 0" for _ in words)
        first = """SELECT min(q.id) FROM passages q JOIN versions v ON v.id = q.version_id
                   JOIN documents d ON d.id = v.document_id WHERE d.collection = ?"""
        query = f"{_PASSAGE} WHERE p.id IN ({first}{title} GROUP BY v.id) ORDER BY p.id LIMIT ?"
        rows = self._rows(query, collection, *(word.lower() for word in words), most)
        return [read.passage(row) for row in rows]

    def holding(
        self, collection: str, phrase: str, documents: Sequence[str] = (), most: int = 100
    ) -> list[Passage]:
        """Passages whose text or headings hold a phrase; of the documents named, where some are."""
        marks = ",".join("?" * len(documents))
        of = f"AND d.name IN ({marks})" if documents else ""
        query = f"""{_PASSAGE} WHERE d.collection = ? {of}
                    AND (instr(lower(p.text), ?) > 0 OR instr(lower(p.heading), ?) > 0)
                    ORDER BY p.id LIMIT ?"""
        phrase = phrase.lower()
        rows = self._rows(query, collection, *documents, phrase, phrase, most)
        return [read.passage(row) for row in rows]

    def unembedded(self, model: str, batch: int) -> Iterator[list[tuple[str, Passage]]]:
        """Passages the model has no vector for, with the hash of what is embedded for them."""
        last = 0
        while True:
            rows = self._rows(
                f"""{_PASSAGE} WHERE p.id > ? AND NOT EXISTS (SELECT 1 FROM vectors x
                    WHERE x.input_hash = p.input_hash AND x.model = ?) ORDER BY p.id LIMIT ?""",
                last,
                model,
                batch,
            )
            if not rows:
                return
            last = rows[-1]["id"]
            yield [(row["input_hash"], read.passage(row)) for row in rows]

    def count_unembedded(self, model: str) -> int:
        """How many passages the model has yet to embed."""
        query = """SELECT count(*) AS n FROM passages p WHERE NOT EXISTS (SELECT 1 FROM vectors x
                   WHERE x.input_hash = p.input_hash AND x.model = ?)"""
        return int(self._rows(query, model)[0]["n"])

    def last_change(self) -> int:
        """The number of the newest change."""
        return int(self._rows("SELECT coalesce(max(changed), 0) AS n FROM versions")[0]["n"])

    def has_vectors(self, model: str) -> bool:
        return bool(self._rows("SELECT 1 FROM vectors WHERE model = ? LIMIT 1", model))

    def last_vector(self) -> int:
        """The number of the newest vector."""
        return int(self._rows("SELECT coalesce(max(rowid), 0) AS n FROM vectors")[0]["n"])

    def count_changes(self, since: int) -> int:
        """How many passages `changes` would go through."""
        query = """SELECT count(*) AS n FROM passages p JOIN versions v ON v.id = p.version_id
                   WHERE v.changed > ?"""
        return int(self._rows(query, since)[0]["n"])

    def changes(self, since: int, model: str, batch: int = 500) -> Iterator[list[StoredPassage]]:
        """Every passage of every version changed after `since`, with its vector, in batches."""
        return self._stored("v.changed > ?", (since,), model, batch)

    def kinds_to_tell(
        self, collection: str, mark: str, model: str, batch: int = 500
    ) -> Iterator[list[StoredPassage]]:
        """Passages whose document declares no kind, and whose kind was not told by `mark`."""
        where = "d.collection = ? AND v.kind = '' AND v.kinds_by != ?"
        return self._stored(where, (collection, mark), model, batch)

    def _stored(
        self, where: str, values: tuple[object, ...], model: str, batch: int
    ) -> Iterator[list[StoredPassage]]:
        query = _PASSAGE.replace("SELECT p.id,", "SELECT x.vector, p.id,")
        last = 0
        while True:
            rows = self._rows(
                f"""{query} JOIN vectors x ON x.input_hash = p.input_hash AND x.model = ?
                    WHERE {where} AND p.id > ? ORDER BY p.id LIMIT ?""",
                model,
                *values,
                last,
                batch,
            )
            if not rows:
                return
            last = rows[-1]["id"]
            yield [read.stored(row) for row in rows]

    # Writing

    def put_vectors(self, hashes: Sequence[str], vectors: Vectors, model: str) -> None:
        """Keeps vectors by the hash of what was embedded: equal text is embedded once."""
        rows = [(h, model, v.astype("<f4").tobytes()) for h, v in zip(hashes, vectors, strict=True)]
        with self._writing() as connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", rows)

    def put_kinds(self, told: Mapping[int, Kind]) -> None:
        """Keeps the kinds of passages, by their numbers."""
        with self._writing() as connection:
            keep.kinds(connection, told)

    def kinds_told(self, collection: str, mark: str) -> None:
        """Notes that the kinds of a collection's passages are those `mark` stands for."""
        with self._writing() as connection:
            connection.execute(
                """UPDATE versions SET kinds_by = ?1 WHERE kind = '' AND kinds_by != ?1
                   AND document_id IN (SELECT id FROM documents WHERE collection = ?2)""",
                (mark, collection),
            )

    def save(self, versions: Iterable[NewVersion], today: date) -> None:
        """Keeps new contents; what they replace becomes superseded. All of them or none."""
        with self._writing() as connection:
            keep.save(connection, versions, today)

    def touch(self, collection: str, unchanged: Mapping[str, tuple[str, str]]) -> None:
        """Notes where unchanged files stand now (their root), and their stamps."""
        rows = [(*where, collection, name) for name, where in unchanged.items()]
        with self._writing() as connection:
            connection.executemany(
                "UPDATE documents SET root = ?, stamp = ? WHERE collection = ? AND name = ?", rows
            )

    def retire(
        self, collection: str, documents: Iterable[str], today: date, *, by: str = "vanished"
    ) -> None:
        """Takes documents out of force from today on; their versions stay for history."""
        with self._writing() as connection:
            keep.retire(connection, collection, documents, today, by)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, transaction(self._connection, self.path):
            yield self._connection

    def _rows(self, query: str, *values: object) -> list[sqlite3.Row]:
        with self._lock, translated(self.path):
            return self._connection.execute(query, values).fetchall()

    def _in(self, query: str, keys: Sequence[object], *before: object) -> Iterator[sqlite3.Row]:
        """`query IN (keys)`, in portions SQLite takes."""
        for first in range(0, len(keys), 500):
            portion = keys[first : first + 500]
            marks = ",".join("?" * len(portion))
            yield from self._rows(f"{query} ({marks})", *before, *portion)
