"""Reading labelled rows: JSON lines, gzipped or not."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from suffice.errors import SourceMissing, Unreadable

FIELD_TYPES: dict[str, type] = {"query": str, "title": str, "text": str, "relevant": dict}


def read_rows(path: Path, needed: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rows of a file; a row that lacks a needed field is named by its line."""
    if not path.is_file():
        raise SourceMissing(f"There is no file {path}.", remedy="Check the path.")
    opener = gzip.open if path.suffix == ".gz" else open
    rows = []
    try:
        with opener(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    rows.append(_row(json.loads(line), needed, path, number))
    except (OSError, EOFError, zlib.error, ValueError) as problem:
        raise Unreadable(f"{path} is not JSON lines: {problem}.") from problem
    if not rows:
        raise Unreadable(f"{path} holds no rows.", remedy="Name a file with one object a line.")
    return rows


def _row(row: Any, needed: tuple[str, ...], path: Path, number: int) -> dict[str, Any]:
    missing = [field for field in needed if not isinstance(row, dict) or field not in row]
    if missing:
        raise Unreadable(
            f"{path}, line {number}: no field {', '.join(missing)}.",
            remedy=f"Each row needs {', '.join(needed)}.",
        )
    for field, kind in FIELD_TYPES.items():
        if field in row and not isinstance(row[field], kind):
            raise Unreadable(
                f"{path}, line {number}: '{field}' is {type(row[field]).__name__}.",
                remedy=f"Write it as {kind.__name__}.",
            )
    return dict(row)
