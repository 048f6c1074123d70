"""Determines which version of a document is in force on which days.

The versions of a document are the successive contents of a file, and files that declare the same
`id` (or the same title with different versions), if their access labels are equal: whoever may not
read a version must not notice it by another one that it supersedes. A version is in force on the
days `force_from <= day < force_until`. On any day, at most one content of a file is in force.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from suffice.evidence.read import FrontMatter

EVER = date.min
NEVER = date.max
_ARCHIVES = frozenset({"archive", "archived", "old", "previous", "history", "superseded"})
_STATUS = re.compile(
    r"(?<![\s\-–—:(\[])[\s\-–—:(\[]*(?:superseded|archived|old|previous|obsolete)[)\]]?$", re.I
)


@dataclass(frozen=True, slots=True)
class Dated:
    """The values that determine the order of versions."""

    id: int
    document_id: int
    label: str
    """The declared version; empty if none is declared."""
    effective: date | None
    expires: date | None
    seen: date
    sequence: int
    retired_on: date | None = None


@dataclass(frozen=True, slots=True)
class Force:
    """The days on which a version is in force: `start <= day < until`."""

    start: date
    until: date


def family(front: FrontMatter, name: str) -> str:
    """The name shared by all versions of a document."""
    if front.id:
        return f"id:{front.id}"
    if front.title and front.version:
        return f"title:{_home(name)}{_bare_title(front)}"
    return f"file:{name}"


def _home(name: str) -> str:
    """The folder of a document. Documents in an archive folder belong to its parent folder."""
    folders = name.split("/")[:-1]
    return "".join(f"{folder}/" for folder in folders if folder.lower() not in _ARCHIVES)


def in_force(versions: Sequence[Dated]) -> dict[int, Force]:
    """The days on which each version of a family is in force."""
    starts = _starts(versions)
    void = {v.id for v in versions if _replaced(v, versions, starts) or _withdrawn(v, starts)}
    line = sorted(
        (v for v in versions if v.id not in void),
        key=lambda v: (starts[v.id], version_order(v.label), v.sequence),
    )
    force = {id: Force(starts[id], starts[id]) for id in void}
    for place, version in enumerate(line):
        start = starts[version.id]
        successors = (starts[v.id] for v in line[place + 1 :] if _succeeds(v, version))
        ends = (min(successors, default=NEVER), version.retired_on, _day_after(version.expires))
        force[version.id] = Force(start, max(start, min(day or NEVER for day in ends)))
    return force


def version_order(label: str) -> tuple[tuple[int, str], ...]:
    """The natural order of version labels: 2 < 10, 1.9 < 1.10."""
    return tuple(
        (int(part), "") if part.isdigit() else (-1, part)
        for part in re.findall(r"\d+|[a-z]+", label.lower())
    )


def _starts(versions: Sequence[Dated]) -> dict[int, date]:
    """The first day of each version: the declared date if there is one. Otherwise the first content
    of a file has always been in force, and later contents since the day they were read."""
    first: dict[int, int] = {}
    for version in sorted(versions, key=lambda v: v.sequence):
        first.setdefault(version.document_id, version.id)
    return {
        v.id: v.effective or (EVER if first[v.document_id] == v.id else v.seen) for v in versions
    }


def _succeeds(later: Dated, version: Dated) -> bool:
    """Whether `later` is a later version. Files that declare the same version and no different date
    are not versions of each other."""
    same_file = later.document_id == version.document_id
    other_day = None not in (later.effective, version.effective)
    dated_apart = other_day and later.effective != version.effective
    return same_file or dated_apart or not later.label or later.label != version.label


def _withdrawn(version: Dated, starts: dict[int, date]) -> bool:
    """Whether the version was withdrawn before it took effect."""
    return version.retired_on is not None and version.retired_on <= starts[version.id]


def _replaced(version: Dated, versions: Sequence[Dated], starts: dict[int, date]) -> bool:
    """Whether the file later got content that is in force from the same day or earlier."""
    return any(
        other.document_id == version.document_id
        and other.sequence > version.sequence
        and starts[other.id] <= starts[version.id]
        for other in versions
    )


def _day_after(expires: date | None) -> date:
    """The day after the declared day: a document expires at the end of that day."""
    return NEVER if expires is None or expires == NEVER else expires + timedelta(days=1)


def _bare_title(front: FrontMatter) -> str:
    """The title without a trailing version number, year or "(superseded)"."""
    title = " ".join((front.title or "").casefold().split())
    title = _STATUS.sub("", title)
    own = [re.escape(front.version.casefold())] if front.version else []
    if front.effective:
        own.append(str(front.effective.year))
    if own:
        tail = rf"[\s\-–—:,(\[]+(?:v|version|edition|rev\.?|revision)?\s*(?:{'|'.join(own)})[)\]]?$"
        title = re.sub(tail, "", title)
    return title
