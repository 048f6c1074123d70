"""Evidence supplied as files together with an answer: a text, a JSON list of passages, or a folder.

An unreadable file raises an error. Skipping it would shift the passage numbers that citations use.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from suffice.errors import SourceMissing, Unreadable
from suffice.evidence.index import today
from suffice.evidence.inputs import Given, carried_id
from suffice.evidence.read import SUFFIXES, Content, load_file, read_bytes
from suffice.evidence.read.process import Reader
from suffice.evidence.rows import NewVersion
from suffice.evidence.sources import Cutting, check_exists, files, read_version
from suffice.evidence.versions import EVER, NEVER, Dated, Force, in_force
from suffice.settings import ReadSettings
from suffice.types import Kind, Passage

_NUMBERED = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t]*", re.MULTILINE)
_LIST = re.compile(r'\s*\[\s*(?:[{"\]]|$)')
_WRITTEN = (
    'Write a list of texts, or of objects with "text" and optionally "title", "version", '
    '"effective" and "expires"; or give plain text.'
)
# Floats are kept as written, so that version 2.10 does not become 2.1.
_parse = partial(json.loads, parse_float=str)


def read_bundle(source: Path, cutting: Cutting, max_bytes: int) -> list[Given]:
    """The passages of a file, or of a folder split like an indexed one, in order."""
    check_exists(source)
    if source.is_dir():
        return list(_folder(source, cutting, max_bytes))
    if source.suffix.lower() in SUFFIXES - {".json", ".txt", ".md"}:
        data = load_file(source, max_bytes)
        return _of_content(read_bytes(data, source.suffix, source.name), source.name)
    return read_piece(_load(source, max_bytes), source.name, max_bytes)


def read_piece(data: bytes, name: str, max_bytes: int) -> list[Given]:
    """The passages of one file or of standard input: a JSON list, or text. Text is one passage,
    unless its parts are numbered ("[1] …", each on a new line)."""
    suffix = Path(name).suffix.lower()
    content = read_bytes(data, suffix if suffix in (".txt", ".md") else ".txt", name, max_bytes)
    if suffix == ".json" or _LIST.match(content.text):
        return _of_json(content.text, name)
    return _of_content(content, name)


def _load(path: Path, max_bytes: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(max_bytes + 1)
    except OSError as problem:
        raise Unreadable(
            f"{path.name} cannot be read: {problem.strerror}.", remedy="Check the path."
        ) from problem


def _of_json(text: str, name: str) -> list[Given]:
    try:
        value = _parse(text)
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}: {problem.msg}"
        raise Unreadable(f"{name} is not valid JSON ({where}).", remedy=_WRITTEN) from problem
    except (ValueError, RecursionError) as problem:
        raise Unreadable(f"{name} cannot be read as JSON.", remedy=_WRITTEN) from problem
    if isinstance(value, dict):
        value = value.get("passages", value)
    wrong = not isinstance(value, list) or not all(isinstance(one, str | dict) for one in value)
    if wrong or not value:
        raise Unreadable(f"{name} is not a list of passages.", remedy=_WRITTEN)
    return list(value)


def _of_content(content: Content, name: str) -> list[Given]:
    text, front = content.text[content.body :], content.front
    known: dict[str, Any] = {
        "title": front.title,
        "version": front.version,
        "effective": front.effective,
        "expires": front.expires,
        "document": name,
    }
    return [{"text": part, **known} for part in _parts(text)]


def _parts(text: str) -> list[str]:
    """The parts after "[1]", "[2]" …, if the text starts with "[1]" and no number is missing."""
    marks = list(_NUMBERED.finditer(text))
    counted = [int(mark[1]) for mark in marks] == list(range(1, len(marks) + 1))
    if not marks or not counted or text[: marks[0].start()].strip():
        return [text.strip()]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]


def _folder(source: Path, cutting: Cutting, max_bytes: int) -> Iterator[Passage]:
    listing = files(source)
    if listing.failures:
        raise Unreadable(listing.failures[0].reason, remedy="Make it readable, or remove it.")
    if not listing.files:
        raise SourceMissing(
            f"{source} contains no supported document.",
            remedy=f"Suffice reads {', '.join(sorted(SUFFIXES))}.",
        )
    reader = Reader(ReadSettings(max_bytes=max_bytes))
    read = [read_version(file, "default", cutting, reader) for file in listing.files]
    for version, force in zip(read, _forces(read), strict=True):
        yield from _passages(version, force)


def _forces(read: Sequence[NewVersion]) -> list[Force]:
    """When each version was in force. Several files may be versions of the same document."""
    found: dict[int, Force] = {}
    for family in dict.fromkeys(version.family for version in read):
        members = [n for n, version in enumerate(read) if version.family == family]
        found |= in_force([_dated(n, read[n]) for n in members])
    return [found[n] for n in range(len(read))]


def _dated(n: int, version: NewVersion) -> Dated:
    label = version.label if "+" in version.key else ""
    return Dated(n, n, label, version.effective, version.expires, today(), n)


def _passages(version: NewVersion, force: Force) -> Iterator[Passage]:
    for piece, (digest, _) in zip(version.pieces, version.hashes, strict=True):
        yield Passage(
            id=carried_id(f"{version.document}@{version.key}#{piece.start}-{piece.end}"),
            text=version.text[piece.start : piece.end],
            document=version.document,
            version=version.label,
            title=version.title,
            kind=version.kind or Kind.FACT,
            heading=piece.heading,
            start=piece.start,
            end=piece.end,
            page=piece.page,
            content_hash=digest,
            effective=version.effective,
            expires=version.expires,
            since=_known(force.start),
            until=_known(force.until),
            access=version.access,
            family=version.family,
            carried=True,
        )


def _known(day: date) -> date | None:
    return None if day in (EVER, NEVER) else day
