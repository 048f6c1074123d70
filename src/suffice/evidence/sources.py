"""Reads documents from a folder, a file, an upload, standard input or a remote file system."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from suffice.errors import ExtraMissing, SourceMissing, Unreadable
from suffice.evidence.index import today
from suffice.evidence.inputs import Given, carried_id
from suffice.evidence.read import SUFFIXES, Content, FrontMatter, check_size, load_file, read_bytes
from suffice.evidence.read.frontmatter import merged
from suffice.evidence.read.process import Reader
from suffice.evidence.rows import UPLOADED, NewVersion
from suffice.evidence.split import Tokens, content_hash, context, short_name, split
from suffice.evidence.versions import EVER, NEVER, Dated, Force, family, in_force
from suffice.settings import ReadSettings
from suffice.text.readable import readable
from suffice.text.storable import replace_unstorable
from suffice.types import Kind, Passage


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


_ETAGS = ("ETag", "etag", "md5Hash", "content_md5")
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "created")
_REMEDY = "Check the URL, and the credentials in the environment."


def is_url(source: str | Path) -> bool:
    return isinstance(source, str) and "://" in source


def check_source(source: str) -> None:
    """Raise an error for a wrong path. A URL is checked when its objects are listed."""
    if not is_url(source):
        check_exists(Path(source))


@dataclass(frozen=True, slots=True)
class RemoteObject:
    """An object of a remote file system."""

    system: Any
    key: str
    name: str
    day: date
    size: int

    def read(self, max_bytes: int) -> bytes:
        """Its bytes. The size is checked before an object is loaded."""
        try:
            check_size(self.size, max_bytes)
            data: bytes = self.system.cat_file(self.key)
        except Unreadable as flaw:
            raise Unreadable(f"{self.name} {flaw.message}.", remedy=flaw.remedy) from flaw
        except FileNotFoundError as problem:
            raise Unreadable(f"{self.name} no longer exists.") from problem
        except Exception as problem:  # each file system has errors of its own
            raise Unreadable(f"{self.name} could not be read: {_reason(problem)}.") from problem
        return data


def remote_files(url: str) -> Listing:
    """The supported objects below a URL, or the object at it, in a fixed order."""
    system, root = _opened(url)
    place = system.unstrip_protocol(root)
    try:
        system.invalidate_cache()
        found: Mapping[str, Mapping[str, Any]] = system.find(root, detail=True)
    except Exception as problem:  # each file system has errors of its own
        raise SourceMissing(f"Cannot list {url}: {_reason(problem)}.", remedy=_REMEDY) from problem
    files: list[File] = []
    for key in sorted(found):
        path = PurePosixPath(key)
        inside = PurePosixPath(path.name) if key == root else path.relative_to(root)
        if path.suffix.lower() not in SUFFIXES or any(part[0] == "." for part in inside.parts):
            continue
        name = str(inside)
        info = found[key]
        remote = RemoteObject(system, key, name, _day(info), info.get("size") or 0)
        files.append(File(name, Path(name), place, _remote_stamp(info), remote))
    return Listing(place, tuple(files))


def _opened(url: str) -> tuple[Any, str]:
    try:
        fsspec = import_module("fsspec")
    except ImportError as problem:
        raise ExtraMissing(f"Reading {url}", "s3") from problem
    try:
        system, root = fsspec.core.url_to_fs(url)
    except ImportError as problem:
        raise ExtraMissing(f"Reading {url} ({problem})", "s3") from problem
    except ValueError as problem:
        raise SourceMissing(f"Cannot open {url}: {_reason(problem)}.", remedy=_REMEDY) from problem
    return system, str(root).rstrip("/")


def _remote_stamp(info: Mapping[str, Any]) -> str:
    etag = next((info[name] for name in _ETAGS if info.get(name)), None)
    if etag is not None:
        return f"etag:{str(etag).strip(chr(34))}"
    changed = next((info[name] for name in _TIMES if info.get(name)), "")
    return f"{changed}:{info.get('size', '')}"


def _day(info: Mapping[str, Any]) -> date:
    times = (info.get(name) for name in _TIMES)
    return next((one.date() for one in times if isinstance(one, datetime)), today())


def _reason(problem: Exception) -> str:
    return str(problem).strip().rstrip(".") or type(problem).__name__


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
    for name in dict.fromkeys(version.family for version in read):
        members = [n for n, version in enumerate(read) if version.family == name]
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
