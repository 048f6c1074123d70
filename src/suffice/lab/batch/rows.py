"""The rows of a batch: their sources, how they are read in chunks, what is done with each."""

from __future__ import annotations

import glob
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, cast

from suffice.checker import Checker
from suffice.engine import Engine
from suffice.errors import (
    AnswerError,
    EvidenceError,
    ExtraMissing,
    QuestionError,
    SourceMissing,
    SufficeError,
)
from suffice.evidence.inputs import given
from suffice.gate.gate import Gate
from suffice.log.setup import ANSWERS, PIPELINE, Setup
from suffice.schema import CheckedAnswer, FullGate, tree
from suffice.settings import Settings
from suffice.verdict.thresholds import certified

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


COLUMNS = ("id", "question", "evidence", "answer")
# Floats are kept as written, so that version 2.10 does not become 2.1.
_parse = partial(json.loads, parse_float=str)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of one file. `number` orders the chunks of a batch. `first` is the number of
    the first row and, in a file of JSON lines, `offset` its place in the uncompressed bytes."""

    number: int
    source: int
    first: int
    rows: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row with its number in the file (in JSON lines, the line number), or why it is unusable."""

    number: int
    value: Any = None
    problem: str = ""


def plan(sources: tuple[Source, ...], size: int, longest: int) -> list[Chunk]:
    """Divide the files into chunks of at most `size` rows."""
    chunks: list[Chunk] = []
    for place, source in enumerate(sources):
        cut = _parquet_cuts(source, size) if source.is_parquet else _cuts(source, size, longest)
        for first, rows, offset in cut:
            chunks.append(Chunk(len(chunks), place, first, rows, offset))
    return chunks


class Reader:
    """Reads chunks. It keeps the last file open, so that chunks in order are read in one pass."""

    def __init__(self, sources: tuple[Source, ...], longest: int) -> None:
        self._sources, self._longest = sources, longest
        self._place = ""
        self._file: Any = None
        self._group: tuple[int, Any] = (-1, None)

    def rows(self, chunk: Chunk) -> Iterator[Row]:
        source = self._sources[chunk.source]
        if source.place != self._place:
            self._open(source)
        try:
            if source.is_parquet:
                yield from self._table_rows(chunk)
            else:
                yield from self._line_rows(chunk)
        except (OSError, EOFError) as problem:
            raise cannot_read(source.place, problem) from problem

    def _open(self, source: Source) -> None:
        opened: Any = open_source(source.place)
        if source.is_parquet:
            opened = parquet_file(opened, source.place)
        self._place, self._file, self._group = source.place, opened, (-1, None)

    def _line_rows(self, chunk: Chunk) -> Iterator[Row]:
        self._file.seek(chunk.offset)
        left, number = chunk.rows, chunk.first - 1
        for _, line in _lines(self._file, self._longest):
            number += 1
            if not line.strip():
                continue
            yield _parsed(number, line, self._longest)
            left -= 1
            if not left:
                return

    def _table_rows(self, chunk: Chunk) -> Iterator[Row]:
        start, number, end = 0, chunk.first, chunk.first + chunk.rows
        for group in range(self._file.num_row_groups):
            size = self._file.metadata.row_group(group).num_rows
            if start + size >= number and start + 1 < end:
                first = number - start - 1
                for value in self._table(group).slice(first, end - number).to_pylist():
                    yield Row(number, value)
                    number += 1
            start += size

    def _table(self, group: int) -> Any:
        """A row group, kept for the next chunk."""
        if self._group[0] != group:
            names = [name for name in COLUMNS if name in self._file.schema_arrow.names]
            self._group = (group, self._file.read_row_group(group, columns=names))
        return self._group[1]


def parquet_file(opened: BinaryIO, place: str) -> Any:
    try:
        return arrow("pyarrow.parquet").ParquetFile(opened)
    except (OSError, ValueError) as problem:  # pyarrow's errors derive from ValueError
        raise cannot_read(place, problem) from problem


def _parquet_cuts(source: Source, size: int) -> Iterator[tuple[int, int, int]]:
    with open_source(source.place) as opened:
        total = parquet_file(opened, source.place).metadata.num_rows
    for first in range(1, total + 1, size):
        yield first, min(size, total + 1 - first), 0


def _cuts(source: Source, size: int, longest: int) -> Iterator[tuple[int, int, int]]:
    """The first line, the number of rows and the offset of each chunk. Blank lines are no rows."""
    first = rows = offset = number = 0
    with open_source(source.place) as opened:
        try:
            for place, line in _lines(opened, longest):
                number += 1
                if not line.strip():
                    continue
                if rows == size:
                    yield first, rows, offset
                    rows = 0
                if not rows:
                    first, offset = number, place
                rows += 1
        except (OSError, EOFError) as problem:
            raise cannot_read(source.place, problem) from problem
    if rows:
        yield first, rows, offset


def _lines(opened: BinaryIO, longest: int) -> Iterator[tuple[int, bytes]]:
    """The lines with their offsets. Of a line over the limit, only the beginning is returned."""
    place = opened.tell()
    while line := opened.readline(longest + 2):
        size, end = len(line), line
        while not end.endswith(b"\n") and (end := opened.readline(1 << 20)):
            size += len(end)
        yield place, line
        place += size


def _parsed(number: int, line: bytes, longest: int) -> Row:
    if len(line.rstrip(b"\r\n")) > longest:
        return Row(number, problem=f"The row is over the limit of {longest:,} bytes.")
    try:
        return Row(number, _parse(line.decode("utf-8-sig")))
    except UnicodeDecodeError as problem:
        return Row(number, problem=f"The row is not valid UTF-8 (at byte {problem.start}).")
    except json.JSONDecodeError as problem:
        return Row(number, problem=f"The row is not valid JSON ({problem.msg}).")
    except (ValueError, RecursionError):
        return Row(number, problem="The row cannot be read as JSON.")


Kind = Literal["check", "gate"]
GOOD, BAD, COUNTS = b"+", b"-", b"#"
"""The first byte of a line in a part: a result, an unusable row, or the counts of the part."""
_ELSEWHERE = {"answer", "passages", "question", "record"}
_ROW = 'A row is an object with "question", "evidence" (a list of texts or objects) and "answer".'


@dataclass(frozen=True, slots=True)
class Task:
    """The work on a row. `day` is the day on which documents must be in force, so that a run
    resumed on another day gives the same results."""

    kind: Kind
    day: date
    settings: Settings = field(default_factory=Settings)
    tier: str = ""
    uncited: bool = False

    @property
    def fingerprint(self) -> str:
        """Equal for tasks that give equal results: settings, options and package versions."""
        own, options = self.settings.collection(""), {"tier": self.tier, "uncited": self.uncited}
        said = {name: str(value) for name, value in options.items()}
        door = ANSWERS if self.kind == "check" else PIPELINE
        setup = Setup(own, self.settings.embedder, self.settings.verifier, {}, door, said)
        return f"{self.kind}-{setup.record().id}"

    def on_one_thread(self) -> Task:
        """The same task for a worker with one CPU. The number of threads changes no score."""
        embedder = replace(self.settings.embedder, threads=1)
        verifier = replace(self.settings.verifier, threads=1)
        return replace(self, settings=replace(self.settings, embedder=embedder, verifier=verifier))

    def open(self) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
        """Load the models. The result turns a row into its output; it raises a `SufficeError` for
        a row that cannot be used."""
        settings = self.settings
        engine = Engine(settings, tier=self.tier)
        if self.kind == "check":
            checker = replace(engine.checker(uncited=self.uncited), clock=lambda: self.day)
            return lambda row: _check(checker, row)
        embedder, verifier = engine.embedder, engine.verifier
        own = certified(settings.collection(""), {"embedder": embedder.id, "verifier": verifier.id})
        opened = Gate.of(own, embedder, verifier)
        opened.clock = lambda: self.day
        return lambda row: _gate(opened, row)


class RowProgress(Protocol):
    def __call__(self, rows: int) -> None: ...


class Processor:
    """Turns chunks into parts: bytes that depend on the chunk's rows only."""

    def __init__(self, task: Task, sources: Sequence[Source]) -> None:
        self._sources = tuple(sources)
        self._reader = Reader(self._sources, task.settings.read.max_bytes)
        self._work = task.open()

    def part(self, chunk: Chunk, progress: RowProgress = lambda rows: None) -> bytes:
        """The results of a chunk, one a line, after a line with their counts."""
        lines: list[bytes] = []
        counts = Counter[str]()
        place = self._sources[chunk.source].place
        for row in self._reader.rows(chunk):
            progress(len(lines))
            mark, value = self._result(place, row)
            counts["bad" if mark == BAD else str(value.get("verdict", value.get("level")))] += 1
            lines.append(mark + encoded(value))
        if len(lines) != chunk.rows:
            raise SourceMissing(
                f"{place} has changed during the run.", remedy="Start again with --restart."
            )
        return b"".join([COUNTS + encoded(dict(sorted(counts.items()))), *lines])

    def _result(self, place: str, row: Row) -> tuple[bytes, dict[str, Any]]:
        known = {"file": place, "row": row.number}
        if row.problem:
            return BAD, {**known, "reason": row.problem}
        if not isinstance(row.value, dict):
            return BAD, {**known, "reason": f"The row is not an object. {_ROW}"}
        if row.value.get("id") is not None:
            known["id"] = row.value["id"]
        try:
            return GOOD, {**known, **self._work(row.value)}
        except (AnswerError, EvidenceError, QuestionError) as problem:
            return BAD, {**known, "reason": str(problem)}
        except (SufficeError, OSError, MemoryError):  # not the row's fault: the run stops
            raise
        except Exception as problem:  # one row must not stop a run of a million
            return BAD, {**known, "reason": f"Internal error: {type(problem).__name__}: {problem}"}


def encoded(value: Any) -> bytes:
    """One line of JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str).encode() + b"\n"
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can express
        return json.dumps(value, default=str).encode() + b"\n"


def _check(checker: Checker, row: Mapping[str, Any]) -> dict[str, Any]:
    question = row.get("question")
    if question is not None and not isinstance(question, str):
        raise QuestionError('"question" is not a string.', remedy=_ROW)
    if row.get("answer") is None:
        raise AnswerError('The row has no "answer".', remedy=_ROW)
    verdict = tree(CheckedAnswer.of(checker.check(row["answer"], _evidence(row), question)))
    return {name: value for name, value in verdict.items() if name not in _ELSEWHERE}


def _gate(opened: Gate, row: Mapping[str, Any]) -> dict[str, Any]:
    question = row.get("question")
    if not isinstance(question, str):
        raise QuestionError('The row has no "question".', remedy=_ROW)
    decision = opened.decide(question, given(_evidence(row)))
    return {"open": decision.open, **tree(FullGate.of(decision))}


def _evidence(row: Mapping[str, Any]) -> Any:
    evidence = row.get("evidence")
    if evidence is None:
        raise EvidenceError('The row has no "evidence".', remedy=_ROW)
    return evidence
