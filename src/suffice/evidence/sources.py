"""From what the user names (a folder, a file, standard input) to documents ready to be kept."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from suffice.errors import SourceMissing
from suffice.evidence.read import SUFFIXES, Content, FrontMatter, read_bytes, read_file
from suffice.evidence.rows import NewVersion
from suffice.evidence.split import Tokens, context, split
from suffice.evidence.versions import family
from suffice.types import Kind


@dataclass(frozen=True, slots=True)
class File:
    """One file to be read: its document name, where it stands, and how to tell it has changed."""

    name: str
    path: Path
    root: Path
    stamp: str


@dataclass(frozen=True, slots=True)
class Cutting:
    """How documents are cut: with whose tokens, to what size."""

    tokens: Tokens
    budget: int


def files(source: Path) -> list[File]:
    """The readable files of a folder, or the one file named, in a fixed order."""
    if source.is_file():
        path = source.resolve()
        return [File(_name(Path(path.name)), path, path, _stamp(path))]
    check_exists(source)
    root = source.resolve()
    return [File(_name(path.relative_to(root)), path, root, _stamp(path)) for path in _walk(root)]


def _name(path: Path) -> str:
    """The path as text that can be stored, also where a file's name is not valid UTF-8."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def check_exists(source: Path) -> None:
    """A wrong path is said before anything is made for it."""
    if not source.exists():
        raise SourceMissing(f"There is no file or folder {source}.", remedy="Check the path.")


def _walk(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.suffix.lower() in SUFFIXES:
                yield path


def _stamp(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return ""  # a dangling link: reading it will say so
    return f"{stat.st_mtime_ns}:{stat.st_size}"


def read_version(file: File, collection: str, cutting: Cutting, max_bytes: int) -> NewVersion:
    """A file read and cut."""
    data, content = read_file(file.path, max_bytes)
    day = datetime.fromtimestamp(file.path.stat().st_mtime, UTC).date()
    return _version(file, collection, data, content, day, cutting)


def read_input(
    data: bytes, name: str, collection: str, cutting: Cutting, today: date
) -> NewVersion:
    """Standard input as a document of the given name; its suffix says what it is."""
    suffix = Path(name).suffix.lower()
    content = read_bytes(data, suffix if suffix in SUFFIXES else ".md", name)
    here = Path(name)
    return _version(File(name, here, here, ""), collection, data, content, today, cutting)


def read_text(
    name: str, title: str, text: str, collection: str, cutting: Cutting, today: date
) -> NewVersion:
    """A text at hand as a document."""
    here = Path(name)
    content = Content(text, FrontMatter(title=title or None))
    return _version(File(name, here, here, ""), collection, text.encode(), content, today, cutting)


def _version(
    file: File, collection: str, data: bytes, content: Content, day: date, cutting: Cutting
) -> NewVersion:
    front = content.front
    digest = hashlib.sha256(data).hexdigest()
    title = front.title or Path(file.name).stem.replace("-", " ").replace("_", " ")
    pieces = tuple(split(content, title, cutting.tokens, cutting.budget))
    texts = [content.text[piece.start : piece.end] for piece in pieces]
    label = front.version or digest[:8]
    return NewVersion(
        collection=collection,
        document=file.name,
        root=str(file.root),
        stamp=file.stamp,
        key=f"{front.version}+{digest[:8]}" if front.version else digest[:8],
        label=label,
        title=title,
        kind=front.kind or Kind.FACT,
        access=front.access,
        effective=front.effective,
        expires=front.expires,
        family=family(front, file.name),
        text=content.text,
        content_hash=digest,
        file_date=day,
        pieces=pieces,
        hashes=tuple(
            (_hash(text), _hash(f"{context(title, piece.heading)}\n{text}"))
            for text, piece in zip(texts, pieces, strict=True)
        ),
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
