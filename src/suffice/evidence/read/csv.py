"""Reads CSV: each row becomes a line in which every value follows its column name."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice, zip_longest

from suffice.errors import Unreadable
from suffice.evidence.read.blocks import check_elements, join_lines
from suffice.evidence.read.decode import decode
from suffice.evidence.read.source import Content

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 50  # rows
_COLUMNS = 16_384  # as in Excel


def read(data: bytes) -> Content:
    """Lines such as "Header: value; Header: value." Without rows, the headers alone."""
    text = decode(data)
    rows = _rows(text, _delimiter(text))
    first = next(rows, None)
    if first is None:
        raise Unreadable("is empty")
    if _is_header(first):
        lines = (_line(first, row) for row in rows)
        return Content(text=join_lines(lines) or _sentence(cell for cell in first if cell))
    return Content(text=join_lines(_line([], row) for row in chain([first], rows)))


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The non-empty rows, with each cell on one line."""
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    for count, row in enumerate(csv.reader(io.StringIO(text), delimiter=delimiter), 1):
        check_elements(count)
        if len(row) > _COLUMNS:
            raise Unreadable(
                f"has a row of {len(row):,} columns; the limit is {_COLUMNS:,}",
                remedy="Split the table by columns.",
            )
        cells = [" ".join(cell.split()) for cell in row]
        if any(cells):
            yield cells


def _delimiter(text: str) -> str:
    """The delimiter that most evenly splits the first rows into two or more cells."""
    return max(_DELIMITERS, key=lambda delimiter: _evenness(text, delimiter))


def _evenness(text: str, delimiter: str) -> tuple[float, int]:
    widths = [len(row) for row in islice(_rows(text, delimiter), _SAMPLE)]
    width, count = Counter(widths).most_common(1)[0] if widths else (1, 0)
    return (count / len(widths), width) if width > 1 else (0.0, 0)


def _is_header(row: list[str]) -> bool:
    """Whether the first row is a header: it contains something other than numbers."""
    return not all(_is_number(cell) for cell in row if cell)


def _is_number(cell: str) -> bool:
    return cell.lstrip("+-").replace(".", "").replace(",", "").removesuffix("%").isdecimal()


def _line(header: list[str], row: list[str]) -> str:
    named = zip_longest(header[: len(row)], row, fillvalue="")
    return _sentence(
        f"{name or f'Column {number}'}: {value}"
        for number, (name, value) in enumerate(named, start=1)
        if value
    )


def _sentence(parts: Iterator[str]) -> str:
    text = "; ".join(parts)
    return text if text.endswith((".", "!", "?")) else text + "."
