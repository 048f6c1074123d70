"""Converts tables and structured evidence to sentences that give each value with its name.

    | Plan | Price |        Plan: Basic; Price: $10.
    |---|---|          →    Plan: Pro; Price: $25.
    | Basic | $10 |
    | Pro | $25 |

Claims use the same form (`text/claims.py`), so that a row can be matched to a claim about it. A
malformed table is left unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import zip_longest
from typing import Any

_PIPE = re.compile(r"(?<!\\)\|")
_DASHES = re.compile(r":?-+:?")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
# A tag ends at the next bracket of either kind, so that unclosed tags do not take quadratic time.
_OPENED = re.compile(r"<table\b[^<>]*>", re.IGNORECASE)
_CLOSED = re.compile(r"</table\s*>", re.IGNORECASE)
_NESTED = re.compile(r"<table\b", re.IGNORECASE)
_MERGED = re.compile(r"\b(?:row|col)span\s*=[\s\"']*(?!1\b)\d", re.IGNORECASE)
_TR = re.compile(r"<tr\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"<(t[hd])\b[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_LONGEST = 300
_KEY = 80


@dataclass(frozen=True, slots=True)
class _Table:
    """The content of an HTML table. Without column names, each row is a name with its values."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def spelled(text: str) -> Iterator[str]:
    """The lines of a text, with Markdown tables and simple HTML tables converted to sentences."""
    done = 0
    opened = _OPENED.search(text)
    while opened and (closed := _CLOSED.search(text, opened.end())):
        if table := _html_table(text[opened.end() : closed.start()]):
            if before := text[done : opened.start()].strip("\n"):
                yield from _markdown(before)
            if table.caption:
                yield table.caption
            for cells in table.rows:
                yield from _row(table.header, cells)
            done = closed.end()
        opened = _OPENED.search(text, closed.end())
    if rest := text[done:].lstrip("\n") if done else text:
        yield from _markdown(rest)


def _markdown(text: str) -> Iterator[str]:
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        header = _header(lines, place)
        if not header:
            yield lines[place]
            place += 1
            continue
        place += 2
        while place < len(lines) and _PIPE.search(lines[place]):
            if not _is_rule(cells := _cells(lines[place])):
                yield from _row(header, cells)
            place += 1


def _header(lines: Sequence[str], place: int) -> list[str]:
    """The column names if a table starts at `place`: a row, a rule of the same width, another
    row."""
    if place + 2 >= len(lines) or not all(_PIPE.search(line) for line in lines[place : place + 3]):
        return []
    header, rule = _cells(lines[place]), _cells(lines[place + 1])
    in_order = len(header) == len(rule) and _is_rule(rule) and not _is_rule(header)
    return header if in_order else []


def _cells(line: str) -> list[str]:
    parts = _PIPE.split(line.strip())
    first = 1 if len(parts) > 1 and not parts[0] else 0
    last = len(parts) - 1 if len(parts) > first + 1 and not parts[-1] else len(parts)
    return [_cell(part.replace("\\|", "|")) for part in parts[first:last]]


def _cell(text: str) -> str:
    plain = " ".join(_BREAK.sub(" ", text).split())
    bold = len(plain) > 4 and plain.startswith("**") and plain.endswith("**")
    return plain[2:-2].strip() if bold else plain


def _is_rule(cells: Sequence[str]) -> bool:
    return all(_DASHES.fullmatch(cell) for cell in cells)


def _html_table(inner: str) -> _Table | None:
    """Parse a table. `None` if it has nested tables, merged cells or text between its cells."""
    if _NESTED.search(inner) or _MERGED.search(inner):
        return None
    caption, *parts = _TR.split(inner)
    cut = [row for part in parts if len(row := _CELL.split(part)) > 1 or _plain(part)]
    if any(len(row) == 1 or _plain(row[0]) for row in cut):
        return None
    kinds = [[kind.lower() for kind in row[1::2]] for row in cut]
    rows = [[_plain(cell) for cell in row[2::2]] for row in cut]
    header = rows[0] if _is_header(kinds, rows) else []
    below = rows[bool(header) :]
    return _Table(_plain(caption), header, below) if any(map(any, below)) else None


def _is_header(kinds: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row names the columns. A table without <th> cells has a header only if it
    has more than two columns; with two columns, each row is a name and a value."""
    if len(rows) < 2:
        return False
    if any("th" in row for row in kinds):
        return all(kind == "th" or not cell for kind, cell in zip(kinds[0], rows[0], strict=True))
    return len(rows[0]) > 2 and all(len(row) == len(rows[0]) for row in rows)


def _plain(markup: str) -> str:
    return " ".join(unescape(_TAG.sub(" ", markup)).split())


def _row(header: Sequence[str], cells: Sequence[str]) -> Iterator[str]:
    """A row as one sentence, or a wide row as several that all start with the first cell."""
    if any(header):
        pairs = zip_longest(header[: len(cells)], cells, fillvalue="")
        parts = [f"{name}: {cell}" if name else cell for name, cell in pairs if cell]
    else:
        first, *rest = [*filter(None, cells), ""]
        parts = [f"{first}: {', '.join(filter(None, rest))}" if any(rest) else first]
    key = parts[0] if parts and len(parts[0]) <= _KEY else ""
    line = ""
    for part in parts:
        if line not in ("", key) and len(line) + len(part) > _LONGEST:
            yield _sentence(line)
            line = key
        line = f"{line}; {part}" if line else part
    if line:
        yield _sentence(line)


def _sentence(line: str) -> str:
    return line if line.endswith((".", "!", "?")) else f"{line}."


_CAMEL = re.compile(r"(?<=[a-z]{3})(?=[A-Z][a-z]{2})|_")
_HOURS = re.compile(r"^(\d{1,2}):(\d{1,2})-(\d{1,2}):(\d{1,2})$")
_SPACE = re.compile(r"\s*")
_AS_WORDS = {True: "yes", False: "no", None: "not stated"}

_GROWTH = 8
_SMALL = 50_000


def _named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object that keeps every value of a duplicate name, since parsers differ here."""
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    values: dict[str, Any] = {name: [] for name in found}
    for name, value in pairs:
        values[name].append(value)
    return values


_JSON = json.JSONDecoder(
    object_pairs_hook=_named, parse_float=str, parse_int=str, parse_constant=str
)


def flatten(text: str) -> str:
    """JSON as `key, key: value` lines, and tables as one sentence per row. Other text is unchanged.

    Repeating names can multiply the length; input that would grow too much is returned unchanged.
    """
    values = _values(text.strip())
    if values:
        lines = _lines(values[0] if len(values) == 1 else values)
    elif "|" in text or "{" in text or "<" in text:
        lines = _mixed(text)
    else:
        return text
    kept, room = [], max(_SMALL, _GROWTH * len(text))
    for line in lines:
        kept.append(line)
        room -= len(line) + 1
        if room < 0:
            return text
    return "\n".join(kept) or text


def _values(text: str) -> list[Any]:
    """The JSON objects and lists in a text, or an empty list if the text contains anything else."""
    found: list[Any] = []
    place = 0
    while text.startswith(("{", "["), place):
        try:
            value, place = _JSON.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        found.append(value)
        space = _SPACE.match(text, place)
        place = space.end() if space else place
    several = len(found) > 1 and '"' not in text  # "[1] [2]" are citations
    return found if place == len(text) and not several else []


def _mixed(text: str) -> Iterator[str]:
    """The lines of a text, with tables and lines of JSON converted in place."""
    several = sum(line.lstrip().startswith("{") for line in text.split("\n")) > 1
    number = 0
    for line in spelled(text):
        bare = line.strip().rstrip(",")
        value = _values(bare) if bare.startswith("{") else []
        if len(value) == 1 and value[0]:
            number += 1
            yield from _lines(value[0], str(number) if several else "")
        else:
            yield line


def _lines(root: Any, name: str = "") -> Iterator[str]:
    """One line for each value, small record or list of values, after the names of its parents.

    Iterative, because JSON may be nested deeper than Python's recursion limit.
    """
    path: list[str] = []
    levels: list[Iterator[tuple[str, Any]]] = [iter([(name, root)])]
    while levels:
        entry = next(levels[-1], None)
        if entry is None:
            levels.pop()
            del path[-1:]
        elif _is_line(entry[1], named=bool(path or name)):
            yield _line(", ".join(filter(None, [*path, entry[0]])) or "value", entry[1])
        else:
            path.append(entry[0])
            levels.append(_entries(entry[1]))


def _is_line(value: Any, *, named: bool) -> bool:
    if value in ({}, []):
        return named
    if isinstance(value, dict):
        small = not any(isinstance(item, dict | list) or _long(item) for item in value.values())
        return named and len(value) > 1 and small
    if isinstance(value, list):
        return bool(value) and not any(isinstance(item, dict | list) for item in value)
    return True


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        return ((_words(key), item) for key, item in value.items())
    return ((str(number), item) for number, item in enumerate(value, 1))


def _line(name: str, value: Any) -> str:
    if value in ({}, []):
        value = None
    if isinstance(value, dict):
        return (
            f"{name}: {', '.join(f'{_words(k)} {_in_words(item)}' for k, item in value.items())}."
        )
    if isinstance(value, list):
        return f"{name}: {', '.join(map(_in_words, value))}."
    text = _in_words(value)
    return f"{name}: {text}" + ("" if text.endswith((".", "!", "?")) else ".")


def _words(key: object) -> str:
    return " ".join(_CAMEL.sub(" ", str(key)).split())


def _long(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 80


def _in_words(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return _AS_WORDS[value]
    hours = _HOURS.match(value) if isinstance(value, str) else None
    first, second, third, fourth = map(int, hours.groups()) if hours else (99, 0, 99, 0)
    if max(first, third) <= 24 and max(second, fourth) < 60 and third > 2:
        return f"{first}:{second:02} to {third}:{fourth:02}"
    return " ".join(str(value).split())
