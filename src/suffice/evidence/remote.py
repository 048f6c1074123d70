"""Documents in a folder of S3, or of any other file system that fsspec knows.

An object is read again when its ETag changes (where the file system has none: its time or size).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

from suffice.errors import ExtraMissing, SourceMissing, Unreadable
from suffice.evidence.index import today
from suffice.evidence.read import SUFFIXES, check_size
from suffice.evidence.sources import File, Listing, check_exists

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
        files.append(File(name, Path(name), place, _stamp(info), remote))
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


def _stamp(info: Mapping[str, Any]) -> str:
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
