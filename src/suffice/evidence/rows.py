"""Converts database rows to values and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from suffice.evidence.split import Piece
from suffice.evidence.versions import EVER, NEVER, Dated
from suffice.types import Kind, Passage

if TYPE_CHECKING:
    from suffice.sql import sa

Vectors = NDArray[np.float32]
UPLOADED = "uploaded:"
"""The root of documents uploaded over HTTP."""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """The content of a document, read, split and ready to be stored."""

    collection: str
    document: str
    root: str
    stamp: str
    key: str
    label: str
    title: str
    kind: Kind | None
    """The declared kind; `None`: a fact."""
    access: frozenset[str]
    effective: date | None
    expires: date | None
    family: str
    text: str
    content_hash: str
    file_date: date
    pieces: tuple[Piece, ...]
    hashes: tuple[tuple[str, str], ...]
    """For each piece, the hash of its text and the hash of its embedded text."""
    unread: tuple[str, ...] = ()
    """Front matter keys that the author should check."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the store knows about a file, enough to decide whether to read it again."""

    root: str
    stamp: str
    key: str
    retired: bool
    access: frozenset[str] = frozenset()
    by_person: bool = False
    """Whether it was retired manually, not because the file is gone."""


VersionStatus = Literal["current", "superseded", "expired", "not yet effective", "retired"]


@dataclass(frozen=True, slots=True)
class VersionInfo:
    """A version, as listed by `suffice documents`."""

    document: str
    collection: str
    version: str
    key: str
    title: str
    kind: Kind
    access: frozenset[str]
    effective: date | None
    expires: date | None
    seen: date
    file_date: date
    passages: int
    force_from: date
    force_until: date
    retired_on: date | None

    def status(self, day: date) -> VersionStatus:
        """The status of the version on a day, as a short phrase."""
        if self.retired_on and self.retired_on <= day:
            return "retired"
        if self.expires and self.expires < day:
            return "expired"
        if self.force_until <= day or self.force_until <= self.force_from:
            return "superseded"
        return "not yet effective" if day < self.force_from else "current"


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage with its number in the index and its vector."""

    number: int
    passage: Passage
    vector: Vectors


def newest(versions: Sequence[VersionInfo], day: date) -> list[VersionInfo]:
    """One version of each document: the version in force, or else the newest."""
    chosen: dict[tuple[str, str], VersionInfo] = {}
    for version in versions:
        key = (version.collection, version.document)
        if key not in chosen or chosen[key].status(day) != "current":
            chosen[key] = version
    return list(chosen.values())


def iso(day: date | None) -> str | None:
    return day.isoformat() if day else None


def day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


def labels_in(access: str) -> frozenset[str]:
    """The labels of a document, as stored."""
    return frozenset(json.loads(access))


def labels_text(labels: frozenset[str]) -> str:
    """Labels as they are stored: equal sets as equal texts."""
    return json.dumps(sorted(labels))


def dated(row: sa.RowMapping) -> Dated:
    declared = row["label"] if "+" in row["key"] else ""
    return Dated(
        row["id"], row["document_id"], declared, day(row["effective"]), day(row["expires"]),
        date.fromisoformat(row["seen"]), row["sequence"], day(row["retired_on"]),
    )  # fmt: skip


def known(row: sa.RowMapping) -> Known:
    return Known(
        row["root"],
        row["stamp"],
        row["key"],
        row["retired_on"] is not None,
        labels_in(row["access"]),
        row["retired_by"] == "person",
    )


def passage(row: sa.RowMapping) -> Passage:
    since, until = date.fromisoformat(row["force_from"]), date.fromisoformat(row["force_until"])
    return Passage(
        id=row["name"],
        text=row["text"],
        document=row["document"],
        version=row["label"],
        title=row["title"],
        kind=Kind(row["kind"]),
        heading=tuple(json.loads(row["heading"])),
        start=row["start"],
        end=row["end"],
        page=row["page"],
        content_hash=row["content_hash"],
        effective=day(row["effective"]),
        expires=day(row["expires"]),
        since=None if since == EVER else since,
        until=None if until == NEVER else until,
        collection=row["collection"],
        access=labels_in(row["access"]),
        family=row["family"],
    )


def stored(row: sa.RowMapping) -> StoredPassage:
    return StoredPassage(
        row["id"],
        passage(row),
        np.frombuffer(row["vector"], dtype="<f4"),
    )


def version_info(row: sa.RowMapping) -> VersionInfo:
    return VersionInfo(
        document=row["name"],
        collection=row["collection"],
        version=row["label"],
        key=row["key"],
        title=row["title"],
        kind=Kind(row["kind"]),
        access=labels_in(row["access"]),
        effective=day(row["effective"]),
        expires=day(row["expires"]),
        seen=date.fromisoformat(row["seen"]),
        file_date=date.fromisoformat(row["file_date"]),
        passages=row["passages"],
        force_from=date.fromisoformat(row["force_from"]),
        force_until=date.fromisoformat(row["force_until"]),
        retired_on=day(row["retired_on"]),
    )
