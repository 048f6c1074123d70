"""Where checkpoints are kept, and read from: a file, a URL, another store."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import insert, select

from suffice.errors import StoreError, StoreUnreachable
from suffice.log.checkpoints.checkpoint import Checkpoint, checkpoint_of
from suffice.log.tables import CHECKPOINTS
from suffice.sql.address import masked
from suffice.sql.database import Database

_SECONDS = 10.0
_SQLITE = b"SQLite format 3\0"


class Place(Protocol):
    """Takes checkpoints, and gives back those it has."""

    def keep(self, point: Checkpoint) -> None: ...

    def kept(self) -> Sequence[Checkpoint]: ...


def place(where: str) -> Place:
    """The place a setting names: an http URL, a store by its URL or file, or a file of JSON
    lines."""
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
    """A line a checkpoint."""

    path: Path

    def keep(self, point: Checkpoint) -> None:
        try:
            with self.path.open("a", encoding="ascii") as file:
                file.write(f"{point.text()}\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as problem:
            raise StoreError(
                f"The checkpoint cannot be written to {self.path}: {problem.strerror}.",
                remedy="Check record.checkpoint.to; the log itself is not concerned.",
            ) from problem

    def kept(self) -> Sequence[Checkpoint]:
        try:
            text = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise StoreError(
                f"Checkpoints cannot be read from {self.path}: {problem}.",
                remedy="Name the file, URL or store they were written to.",
            ) from problem
        return [checkpoint_of(line, str(self.path)) for line in text.splitlines() if line.strip()]


@dataclass(frozen=True, slots=True)
class _Url:
    """Each is posted as JSON; a GET gives them back, as a JSON list or a line each."""

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
        return [checkpoint_of(one, masked(self.url)) for one in listed if one]

    def _ask(self, method: str, **said: Any) -> str:
        import httpx2

        try:
            reply = httpx2.request(method, self.url, timeout=_SECONDS, **said)
            reply.raise_for_status()
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise StoreUnreachable(
                f"{masked(self.url)} does not take or give checkpoints: {problem}.",
                remedy="Check record.checkpoint.to or --checkpoints; the log is not concerned.",
            ) from problem
        return str(reply.text)


@dataclass(frozen=True, slots=True)
class _Store:
    """Another store of Suffice's, better on another machine."""

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
