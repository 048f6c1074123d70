"""A value out of a table belongs to its row and its column; a claim must be about them.

| Service  | By the employee | By the company |     "The company gives 13 weeks" takes the value of
| 10 years | 13 weeks        | 26 weeks       |     the wrong column: every word of it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from suffice.checks.aligned import roots
from suffice.text.facts.clauses import subject

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Table:
    """A Markdown table of one text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def holding(self, said: str) -> Iterator[tuple[int, int]]:
        """The cells whose value the claim gives, where no other cell has it."""
        cells = [(r, c) for r, row in enumerate(self.rows) for c in range(1, len(row))]
        values = [self.rows[r][c] for r, c in cells]
        for place, value in zip(cells, values, strict=True):
            given = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", said, re.IGNORECASE)
            if _DIGIT.search(value) and given and values.count(value) == 1:
                yield place

    def column(self, words: frozenset[str]) -> int | None:
        """The one column that these words name by what only its header says."""
        own = [roots(name) for name in self.header]
        named = [
            c
            for c in range(1, len(own))
            if words & own[c].difference(*(other for o, other in enumerate(own) if o != c))
        ]
        return named[0] if len(named) == 1 else None

    def row(self, said: str) -> int | None:
        """The one row whose name the claim gives letter for letter."""
        named = [r for r, row in enumerate(self.rows) if row[0] and row[0].lower() in said.lower()]
        return named[0] if len(named) == 1 else None


def misplaced(said: str, text: str) -> str:
    """Which value of the claim stands in another row or column than it speaks of, or ""."""
    for table in tables(text):
        meant = table.column(roots(subject(said)))
        column = meant if meant is not None else table.column(roots(said))
        row = table.row(said)
        for r, c in table.holding(said):
            value = table.rows[r][c]
            if column is not None and c != column:
                return f"“{value}” stands under “{table.header[c]}”, not “{table.header[column]}”"
            if row is not None and r != row:
                return f"“{value}” stands beside “{table.rows[r][0]}”, not “{table.rows[row][0]}”"
    return ""


def tables(text: str) -> Iterator[Table]:
    """The tables of a text that are in order: a header, a rule, rows as wide as the header."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        if place == 0 or not _is_rule(line) or "|" not in lines[place - 1]:
            continue
        header = _cells(lines[place - 1])
        rows = []
        for below in lines[place + 1 :]:
            if "|" not in below or len(_cells(below)) != len(header):
                break
            rows.append(_cells(below))
        if len(header) > 1 and rows:
            yield Table(header, tuple(rows))


def _is_rule(line: str) -> bool:
    rule = line.strip()
    return set(rule) <= set("|:- ") and all("-" in cell for cell in _cells(rule)) and "|" in rule


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
