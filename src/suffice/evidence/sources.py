"""Reads documents from a folder, a file, an upload or standard input."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Protocol

from suffice.errors import SourceMissing, Unreadable
from suffice.evidence.read import SUFFIXES, Content, FrontMatter, load_file
from suffice.evidence.read.frontmatter import merged
from suffice.evidence.read.process import Reader
from suffice.evidence.rows import UPLOADED, NewVersion
from suffice.evidence.split import Tokens, content_hash, context, short_name, split
from suffice.evidence.versions import family
from suffice.sql.storable import replace_unstorable
from suffice.text.readable import readable


class Remote(Protocol):
    """A file that is not on this machine."""

    @property
    def day(self) -> date: ...

    def read(self, max_bytes: int) -> bytes: ...


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: its document name, path, and a stamp for detecting changes."""

    name: str
    path: Path
    root: str
    stamp: str
    remote: Remote | None = None
    """Reads the file if `path` is not a path on this machine."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read, and why."""

    document: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a source, and the folders in it that could not be listed."""

    root: str
    files: tuple[File, ...]
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class Cutting:
    """How documents are split: the tokenizer and the maximum size."""

    tokens: Tokens
    budget: int


def files(source: Path) -> Listing:
    """The supported files in a folder, or the given file, in a fixed order. Links are followed only
    to files in the same folder: whoever may write to it may not be allowed to read other files."""
    check_exists(source)
    root = source.resolve()
    if root.is_file():
        return Listing(
            _text(root), (File(_text(Path(root.name)), root, _text(root), _stamp(root)),)
        )
    failures: list[Failure] = []

    def unread(problem: OSError) -> None:
        name = _text(Path(problem.filename).relative_to(root))
        failures.append(Failure(name, f"{name} cannot be listed: {problem.strerror}."))

    def leads_out(path: Path) -> bool:
        if not path.is_symlink() or _target(path).is_relative_to(root):
            return False
        name = _text(path.relative_to(root))
        reason = f"{name} is a link out of the folder, so it was skipped."
        failures.append(Failure(name, f"{reason} To index its target, copy it into the folder."))
        return True

    found = tuple(
        File(_text(path.relative_to(root)), path, _text(root), _stamp(path))
        for path in _walk(root, unread, leads_out)
    )
    return Listing(_text(root), found, tuple(failures))


def _text(path: Path) -> str:
    """A path as text that can be stored, even if a name is not valid UTF-8."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")


def check_exists(source: Path) -> None:
    """Raise an error for a wrong path before anything is created for it."""
    try:
        source.stat()
    except OSError as problem:
        reason = "" if isinstance(problem, FileNotFoundError) else f" ({problem.strerror})"
        name = _text(source)
        shown = name if len(name) < 200 else f"{name[:200]}…"
        raise SourceMissing(
            f"No such file or folder: {shown}{reason}.", remedy="Check the path."
        ) from None


def _walk(
    root: Path, unread: Callable[[OSError], None], left_out: Callable[[Path], bool]
) -> Iterator[Path]:
    """The supported files. Links to folders are not followed."""
    for folder, folders, names in os.walk(root, onerror=unread):
        shown = sorted(name for name in folders if not name.startswith("."))
        folders[:] = [name for name in shown if not left_out(Path(folder, name))]
        for name in sorted(names):
            path = Path(folder, name)
            supported = not name.startswith(".") and path.suffix.lower() in SUFFIXES
            if supported and not left_out(path):
                yield path


def _target(link: Path) -> Path:
    """Where a link leads. A link in a circle leads to itself; reading it reports the error."""
    try:
        return link.resolve()
    except (OSError, RuntimeError):
        return link


def _stamp(path: Path) -> str:
    try:
        stat = path.stat()
    except OSError:
        return ""  # a dangling link; reading it reports the error
    return f"{stat.st_mtime_ns}:{stat.st_size}"


def read_version(file: File, collection: str, cutting: Cutting, reader: Reader) -> NewVersion:
    """Read and split a file."""
    if file.remote is not None:
        data = file.remote.read(reader.settings.max_bytes)
        content = reader.read(data, file.path.suffix, file.name)
        return _version(file, collection, data, content, file.remote.day, cutting)
    data = load_file(file.path, reader.settings.max_bytes)
    content = reader.read(data, file.path.suffix, file.path.name)
    day = datetime.fromtimestamp(file.path.stat().st_mtime, UTC).date()
    return _version(file, collection, data, content, day, cutting)


def read_input(
    data: bytes, name: str, collection: str, cutting: Cutting, today: date, reader: Reader
) -> NewVersion:
    """Read standard input as a document of the given name. The suffix determines the format."""
    suffix = Path(name).suffix.lower()
    content = reader.read(data, suffix if suffix in SUFFIXES else ".md", name)
    file = File(name, Path(name), name, "")
    return _version(file, collection, data, content, today, cutting)


def read_upload(
    data: bytes,
    name: str,
    given: FrontMatter,
    collection: str,
    cutting: Cutting,
    today: date,
    reader: Reader,
) -> NewVersion:
    """Read an uploaded file with a supported suffix, under its name and with its declared
    fields."""
    content = reader.read(data, Path(name).suffix, name)
    try:
        content = replace(content, front=merged(content.front, given))
    except Unreadable as flaw:
        raise Unreadable(f"{name} {flaw.message}.", remedy=flaw.remedy) from flaw
    # The same bytes with other declarations are another version.
    fields = {**asdict(given), "access": sorted(given.access)}
    beside = repr(fields).encode() if given != FrontMatter() else b""
    return _version(
        File(name, Path(name), UPLOADED, ""), collection, data + beside, content, today, cutting
    )


def read_text(
    name: str, title: str, text: str, collection: str, cutting: Cutting, today: date
) -> NewVersion:
    """Read a text as a document."""
    content = Content(
        replace_unstorable(text), FrontMatter(title=replace_unstorable(title) or None)
    )
    file = File(name, Path(name), name, "")
    data = f"{title}\n{text}".encode("utf-8", "surrogatepass")
    return _version(file, collection, data, content, today, cutting)


def _version(
    file: File, collection: str, data: bytes, content: Content, day: date, cutting: Cutting
) -> NewVersion:
    front = content.front
    digest = hashlib.sha256(data).hexdigest()
    declared = readable(short_name(front.title or "")).strip()  # a title may contain HTML
    title = declared or Path(file.name).stem.replace("-", " ").replace("_", " ")
    pieces = tuple(split(content, title, cutting.tokens, cutting.budget))
    texts = [content.text[piece.start : piece.end] for piece in pieces]
    label = front.version or digest[:8]
    return NewVersion(
        collection=collection,
        document=file.name,
        root=file.root,
        stamp=file.stamp,
        key=f"{front.version}+{digest[:8]}" if front.version else digest[:8],
        label=label,
        title=title,
        kind=front.kind,
        access=front.access,
        effective=front.effective,
        expires=front.expires,
        family=family(front, file.name),
        text=content.text,
        content_hash=digest,
        file_date=day,
        pieces=pieces,
        hashes=tuple(
            (content_hash(text), content_hash(f"{context(title, piece.heading)}\n{text}"))
            for text, piece in zip(texts, pieces, strict=True)
        ),
        unread=front.unread,
    )
