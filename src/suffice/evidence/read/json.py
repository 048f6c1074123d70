"""Reads JSON and JSON lines: one "path.to.key: value" line per value, one block per object."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from suffice.errors import Unreadable
from suffice.evidence.read.blocks import check_elements, join_lines
from suffice.evidence.read.decode import decode, unix_lines
from suffice.evidence.read.frontmatter import KIND_NAMES, declared
from suffice.evidence.read.source import Content, FrontMatter

# Numbers are kept as written: 2.10 does not become 2.1, and no number is too long.
_VALUES = re.compile(r'"(?:[^"\\]|\\.)*+"?+|[\[{,:]', re.DOTALL)
_FEW = 1_000_000
_parse = partial(json.loads, parse_int=str, parse_float=str, parse_constant=str)


def read(data: bytes) -> Content:
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
