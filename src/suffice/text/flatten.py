"""Converts structured evidence into lines that repeat each name next to its value.

Handles JSON (one value, or several in sequence), lines of JSON within other text, and tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from suffice.text.tables import spelled

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
