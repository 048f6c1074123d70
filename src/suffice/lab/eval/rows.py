"""Reads labelled rows from JSON lines files, gzipped or not."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suffice.errors import SourceMissing, Unreadable


@dataclass(frozen=True, slots=True)
class Kind:
    """The allowed values of a field, and their description."""

    words: str
    holds: Callable[[Any], bool]


TEXT = Kind("text", lambda value: isinstance(value, str))
# JSON can spell lone surrogates, which cannot be printed or written to a file.
NAME = Kind(
    "text without lone halves of a character pair (\\ud800 to \\udfff)",
    lambda value: isinstance(value, str) and not re.search("[\ud800-\udfff]", value),
)
PASSAGES = Kind(
    "text or a list of texts",
    lambda value: (
        isinstance(value, str)
        or (isinstance(value, list) and all(isinstance(one, str) for one in value))
    ),
)
OBJECT = Kind("an object", lambda value: isinstance(value, dict))
TRUTH = Kind("true or false", lambda value: isinstance(value, bool))
RETRIEVAL = {"query": TEXT, "title": TEXT, "text": TEXT, "relevant": OBJECT}


def one_of(*values: str) -> Kind:
    """Exactly one of these words."""
    return Kind(
        "one of " + ", ".join(values), lambda value: isinstance(value, str) and value in values
    )


def or_null(kind: Kind) -> Kind:
    """The same kind, or null."""
    return Kind(f"{kind.words} or null", lambda value: value is None or kind.holds(value))


def read_rows(
    path: Path, needed: tuple[str, ...], kinds: Mapping[str, Kind] = RETRIEVAL
) -> list[dict[str, Any]]:
    """The rows of a file. An error names the line that lacks a required field or has an invalid
    value. Fields without a kind may hold anything."""
    return [row for _, row in numbered_rows(path, needed, kinds)]


def numbered_rows(
    path: Path, needed: tuple[str, ...], kinds: Mapping[str, Kind] = RETRIEVAL
) -> list[tuple[int, dict[str, Any]]]:
    """The rows of a file as by `read_rows`, each with its line."""
    if not path.is_file():
        raise SourceMissing(f"There is no file {path}.", remedy="Check the path.")
    opener = gzip.open if path.suffix == ".gz" else open
    rows = []
    try:
        with opener(path, "rb") as file:
            for number, line in enumerate(file, 1):
                where = f"{path}, line {number}"
                if line.strip():
                    rows.append((number, _row(_value(line, where), needed, kinds, where)))
    except (OSError, EOFError, zlib.error) as problem:
        raise Unreadable(
            f"{path} cannot be read: {problem}.", remedy="Use a JSON lines file, gzipped or not."
        ) from problem
    if not rows:
        raise Unreadable(
            f"{path} contains no rows.", remedy="Use a file with one JSON object per line."
        )
    return rows


def _value(line: bytes, where: str) -> Any:
    try:
        return json.loads(line.decode("utf-8").rstrip())
    except json.JSONDecodeError as problem:  # its message counts lines within this one
        raise _no_json(where, f"{problem.msg} at column {problem.colno}") from problem
    except (ValueError, RecursionError) as problem:
        raise _no_json(where, str(problem)) from problem


def _no_json(where: str, why: str) -> Unreadable:
    return Unreadable(
        f"{where}: cannot be read as JSON: {why}.",
        remedy="Write one JSON object per line, in UTF-8.",
    )


def _row(
    row: Any, needed: tuple[str, ...], kinds: Mapping[str, Kind], where: str
) -> dict[str, Any]:
    missing = [field for field in needed if not isinstance(row, dict) or field not in row]
    if missing:
        raise Unreadable(
            f"{where}: no field {', '.join(missing)}.",
            remedy=f"Each row needs {', '.join(needed)}.",
        )
    for field, kind in kinds.items():
        if field in row and not kind.holds(row[field]):
            raise Unreadable(
                f"{where}: '{field}' is {_seen(row[field])}.", remedy=f"Write it as {kind.words}."
            )
    return dict(row)


def _seen(value: Any) -> str:
    return repr(value[:40]) if isinstance(value, str) else type(value).__name__
