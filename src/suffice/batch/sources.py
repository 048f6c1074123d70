"""The input files of a batch: local paths, globs and folders, or URLs such as `s3://bucket/key`."""

from __future__ import annotations

import glob
import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from suffice.errors import ExtraMissing, SourceMissing, SufficeError

SUFFIXES = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz", ".parquet")
_READ = f"Name files, folders, globs or URLs of rows ({', '.join(SUFFIXES)})."


@dataclass(frozen=True, slots=True)
class Source:
    """An input file, with a stamp that changes when the file does."""

    place: str
    stamp: str

    @property
    def is_parquet(self) -> bool:
        return self.place.endswith(".parquet")


def is_url(place: str) -> bool:
    return "://" in place


def find_sources(named: Iterable[str]) -> tuple[Source, ...]:
    """The files, in the order named. The files of a glob or folder are sorted by name, and a file
    that is named twice is read once."""
    found: dict[str, Source] = {}
    for name in named:
        files = list(_remote(name) if is_url(name) else _local(name))
        if not files:
            raise SourceMissing(f"No input file matches {name}.", remedy=_READ)
        for source in files:
            found.setdefault(source.place, source)
    return tuple(found.values())


def open_source(place: str) -> BinaryIO:
    """The bytes of a file, decompressed if its name ends in `.gz`."""
    try:
        raw = _open_remote(place) if is_url(place) else open(place, "rb")  # noqa: SIM115
    except OSError as problem:
        raise cannot_read(place, problem) from problem
    if place.endswith(".gz"):
        gzip = import_module("gzip")
        return cast(BinaryIO, gzip.GzipFile(fileobj=raw))
    return raw


def cannot_read(place: str, problem: Exception) -> SourceMissing:
    reason = getattr(problem, "strerror", None) or str(problem)
    return SourceMissing(
        f"Cannot read {place}: {reason}.",
        remedy="On a cluster, every machine must reach the file under this name.",
    )


def arrow(module: str = "pyarrow", what: str = "Reading Parquet") -> Any:
    """A module of pyarrow, or an error that names the extra."""
    try:
        return import_module(module)
    except ImportError as problem:
        raise ExtraMissing(what, "batch") from problem


def file_system(url: str) -> tuple[Any, str]:
    """The pyarrow file system of a URL, and the path in it."""
    fs = arrow("pyarrow.fs", f"Reading and writing {url.partition('://')[0]}:// URLs")
    try:
        system, path = fs.FileSystem.from_uri(url)
    except Exception as problem:  # pyarrow raises several types
        raise SufficeError(
            f"Cannot open {url}: {problem}.",
            remedy="Use a URL that pyarrow supports (s3://, gs://, hdfs://, file://), and check "
            "the credentials in the environment.",
        ) from problem
    return system, path


def _local(name: str) -> Iterator[Source]:
    path = Path(name)
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.name.endswith(SUFFIXES)]
    elif path.exists() or not glob.has_magic(name):
        files = [path]
    else:
        files = [Path(file) for file in glob.glob(name, recursive=True)]
    for file in sorted(files):
        if file.is_dir():
            continue
        try:
            known = os.stat(file)
        except OSError as problem:
            raise SourceMissing(f"There is no file {file}.", remedy=_READ) from problem
        yield Source(str(file), f"{known.st_size}:{known.st_mtime_ns}")


def _remote(url: str) -> Iterator[Source]:
    fs = arrow("pyarrow.fs", "Reading URLs")
    system, path = file_system(url)
    try:
        infos = list(_matching(fs, system, path))
    except OSError as problem:
        raise cannot_read(url, problem) from problem
    scheme = url[: len(url) - len(path)] if url.endswith(path) else url.partition("://")[0] + "://"
    for info in sorted(infos, key=lambda one: str(one.path)):
        yield Source(f"{scheme}{info.path}", f"{info.size}:{info.mtime_ns}")


def _matching(fs: Any, system: Any, path: str) -> Iterator[Any]:
    if not glob.has_magic(path):
        (info,) = system.get_file_info([path])
        if info.type == fs.FileType.File:
            yield info
        elif info.type == fs.FileType.Directory:
            inside = system.get_file_info(fs.FileSelector(path, recursive=True))
            yield from (one for one in inside if one.path.endswith(SUFFIXES))
        return
    parts = path.split("/")
    fixed = next(n for n, part in enumerate(parts) if glob.has_magic(part))
    listed = fs.FileSelector("/".join(parts[:fixed]), allow_not_found=True, recursive=True)
    for info in system.get_file_info(listed):
        names = info.path.split("/")
        if len(names) != len(parts) or info.type != fs.FileType.File:
            continue
        if all(fnmatchcase(name, part) for name, part in zip(names, parts, strict=True)):
            yield info


def _open_remote(url: str) -> BinaryIO:
    system, path = file_system(url)
    return cast(BinaryIO, io.BufferedReader(system.open_input_file(path)))
