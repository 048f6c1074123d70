"""Reads the rows of Markdown tables, with the headings of their columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_LINE = re.compile(r"[^\n]+")
_RULE = re.compile(r"[ \t]*+(?:\|[ \t]*+)?:?--[-:| \t]*")


@dataclass(frozen=True, slots=True)
class Row:
    """One table row. `start` is where its text starts, `edges` where each cell starts."""

    start: int
    edges: tuple[int, ...]
    cells: tuple[str, ...]
    heading: tuple[str, ...]

    def column(self, at: int) -> int:
        """The index of the cell at position `at`."""
        return max(0, bisect_right(self.edges, at) - 1)


def table_rows(text: str) -> Iterator[Row]:
    """The rows below a heading and its rule line. Lines with bars but without both do not count."""
    heading: tuple[str, ...] = ()
    previous: tuple[str, ...] = ()
    after = -1
    for line in _LINE.finditer(text):
        if "|" not in line[0] or (after >= 0 and line.start() != after + 1):
            heading = previous = ()
        if "|" in line[0]:
            if _RULE.fullmatch(line[0]):
                heading = previous
            else:
                row = _row(line, heading)
                if heading:
                    yield row
                previous = row.cells
        after = line.end()


def _row(line: re.Match[str], heading: tuple[str, ...]) -> Row:
    written = line[0]
    lead = len(written) - len(written.lstrip())
    at = line.start() + lead
    body = written.strip()
    start = at
    if body.startswith("|"):
        body, at = body[1:], at + 1
    body = body.removesuffix("|")
    cells = body.split("|")
    edges = []
    for cell in cells:
        edges.append(at)
        at += len(cell) + 1
    return Row(start, tuple(edges), tuple(cell.strip() for cell in cells), heading)
