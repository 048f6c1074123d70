"""Destinations of checkpoints: a file, a URL or another store."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from suffice.errors import StoreError, StoreUnreachable
from suffice.log.checkpoints.checkpoint import Checkpoint, checkpoint_of
from suffice.log.tables import CHECKPOINTS
from suffice.sql.address import masked
from suffice.sql.database import Database
from suffice.sql.toolkit import insert, select

_SECONDS = 10.0
_SQLITE = b"SQLite format 3\0"


class Place(Protocol):
    """Stores checkpoints and returns the stored ones."""

    def keep(self, point: Checkpoint) -> None: ...

    def kept(self) -> Sequence[Checkpoint]: ...


def place(where: str) -> Place:
    """Parse a destination: an HTTP URL, a store (URL or file), or a JSON lines file."""
    if where.startswith(("http://", "https://")):
        return _Url(where)
    return _Store(where) if "://" in where or _is_store(Path(where)) else _File(Path(where))


def _is_store(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return path.suffix == ".db"


@dataclass(frozen=True, slots=True)
class _File:
    """A file with one checkpoint per line."""

    path: Path

    def keep(self, point: Checkpoint) -> None:
        try:
            with self.path.open("a", encoding="ascii") as file:
                file.write(f"{point.text()}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise StoreError(
                f"Cannot write the checkpoint to {self.path}: {problem.strerror}.",
                remedy="Check record.checkpoint.destinations. The log itself is not affected.",
            ) from problem

    def kept(self) -> Sequence[Checkpoint]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise StoreError(
                f"Cannot read checkpoints from {self.path}: {problem}.",
                remedy="Pass the file, URL or store they were written to.",
            ) from problem
        return [checkpoint_of(line, str(self.path)) for line in text.splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class _Url:
    """An HTTP endpoint: POST stores one checkpoint as JSON, GET returns all as a JSON list or as
    JSON lines."""

    url: str

    def keep(self, point: Checkpoint) -> None:
        self._ask("POST", content=point.text(), headers={"content-type": "application/json"})

    def kept(self) -> Sequence[Checkpoint]:
        text = self._ask("GET").strip()
        listed: list[Any] = []
        try:
            listed = json.loads(text) if text.startswith("[") else text.splitlines()
        except ValueError:
            listed = text.splitlines()
        return [checkpoint_of(item, masked(self.url)) for item in listed if item]

    def _ask(self, method: str, **options: Any) -> str:
        import httpx2

        try:
            reply = httpx2.request(method, self.url, timeout=_SECONDS, **options)
            reply.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise StoreUnreachable(
                f"The {method} request for checkpoints to {masked(self.url)} failed: {problem}.",
                remedy="Check record.checkpoint.destinations or --checkpoints. "
                "The log is not affected.",
            ) from problem
        return str(reply.text)


@dataclass(frozen=True, slots=True)
class _Store:
    """Another Suffice store, preferably on another machine."""

    where: str

    def keep(self, point: Checkpoint) -> None:
        database = Database.open(self.where, create=True)
        row = {"log": point.log, "sequence": point.sequence, "body": point.text()}
        try:
            with database.writing() as connection:
                connection.execute(insert(CHECKPOINTS).values(row))
        finally:
            database.close()

    def kept(self) -> Sequence[Checkpoint]:
        database = Database.open(self.where)
        try:
            with database.reading() as connection:
                asked = select(CHECKPOINTS.c.body).order_by(CHECKPOINTS.c.id)
                found = connection.scalars(asked).all()
        finally:
            database.close()
        return [checkpoint_of(body, database.where) for body in found]
