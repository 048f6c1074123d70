"""Reads the rows of a batch in chunks. A chunk can be read without the chunks before it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from suffice.batch.sources import Source, arrow, cannot_read, open_source

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
