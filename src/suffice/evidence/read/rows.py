"""Reads CSV and JSON: each value on a line with the name of its column or its path."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, zip_longest
from typing import Any

from suffice.errors import Unreadable
from suffice.evidence.read.frontmatter import KIND_NAMES, declared
from suffice.evidence.read.source import (
    Content,
    FrontMatter,
    check_elements,
    decode,
    join_lines,
    unix_lines,
)

_DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 50  # rows
_COLUMNS = 16_384  # as in Excel


def read_csv(data: bytes) -> Content:
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


# Numbers are kept as written: 2.10 does not become 2.1, and no number is too long.
_VALUES = re.compile(r'"(?:[^"\\]|\\.)*+"?+|[\[{,:]', re.DOTALL)
_FEW = 1_000_000
_parse = partial(json.loads, parse_int=str, parse_float=str, parse_constant=str)


def read_json(data: bytes) -> Content:
    """The flattened text. Known keys of a top-level object become front matter."""
    text = decode(data)
    value = _load(text)
    lines = join_lines(_lines("", value))
    blocks = re.sub(r"\n{3,}", "\n\n", lines.strip("\n"))
    return Content(text=blocks, front=_front(value))


def _load(text: str) -> Any:
    """One JSON value, or a list of values from JSON lines."""
    _check_values(text)
    try:
        return _parse(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            return _load_lines(text)
        raise _invalid(error, error.lineno) from error


def _check_values(text: str) -> None:
    """Check the number of values, before each takes its memory."""
    if sum(map(text.count, ",[{:\n")) <= _FEW:
        return
    values = 0
    for part in _VALUES.finditer(text):
        values += part[0][0] != '"'
        check_elements(values)


def _load_lines(text: str) -> list[Any]:
    values = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            values += [_parse(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            raise _invalid(error, number) from error
    return values


def _invalid(error: json.JSONDecodeError, line: int) -> Unreadable:
    return Unreadable(f"is not valid JSON (line {line}, column {error.colno}: {error.msg})")


def _front(value: Any) -> FrontMatter:
    """Front matter of an object. Only dates and access labels must be valid: other keys often mean
    something else in JSON."""
    if not isinstance(value, dict):
        return FrontMatter()
    return declared({key: item for key, item in value.items() if _declares(key.lower(), item)})


def _declares(key: str, item: Any) -> bool:
    if key == "kind":
        return isinstance(item, str) and item.lower() in KIND_NAMES
    if key in ("title", "version"):
        return isinstance(item, str)
    return key in ("effective", "expires", "access")


def _lines(path: str, value: Any) -> Iterator[str]:
    """The lines of a value, with an empty line between blocks."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _lines(f"{path}.{key}" if path else key, item)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for item in value:
            yield ""
            yield from _lines(path, item)
        yield ""
    elif value != []:
        text = ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value)
        yield f"{path}: {text}" if path else text


def _scalar(value: Any) -> str:
    """A scalar as JSON writes it, but strings without quotes."""
    return unix_lines(value) if isinstance(value, str) else json.dumps(value)
