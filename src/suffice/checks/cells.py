"""A value out of a table belongs to its row and its column; a claim must be about them.

| Service  | By the employee | By the company |     "The company gives 13 weeks" takes the value of
| 10 years | 13 weeks        | 26 weeks       |     the wrong column: every word of it is there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from suffice.checks.aligned import roots
from suffice.text.facts.clauses import subject

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class Table:
    """A Markdown table of one text."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @cached_property
    def _once(self) -> dict[str, tuple[int, int]]:
        """Values with a digit that one cell alone has, by how they begin."""
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for r, row in enumerate(self.rows):
            for c in range(1, len(row)):
                found[row[c].lower()].append((r, c))
        alone = {value: at[0] for value, at in found.items() if len(at) == 1}
        return {value: place for value, place in alone.items() if _DIGIT.search(value)}

    @cached_property
    def _names(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for r, row in enumerate(self.rows):
            if row[0]:
                found[row[0].lower()].append(r)
        return found

    @cached_property
    def _own(self) -> list[frozenset[str]]:
        """For each column what only its header says."""
        own = [roots(name) for name in self.header]
        return [
            words.difference(*(other for o, other in enumerate(own) if o != c))
            for c, words in enumerate(own)
        ]

    @cached_property
    def _lengths(self) -> tuple[frozenset[int], frozenset[int]]:
        return frozenset(map(len, self._once)), frozenset(map(len, self._names))

    def holding(self, said: str) -> list[tuple[int, int]]:
        """The cells whose value the claim gives, where no other cell has it."""
        low = said.lower()
        given = (
            self._once.get(low[start : start + size])
            for size in self._lengths[0]
            for start in range(len(low) - size + 1)
            if not _inside(low, start, start + size)
        )
        return sorted({place for place in given if place is not None})

    def column(self, words: frozenset[str]) -> int | None:
        """The one column that these words name by what only its header says."""
        named = [c for c in range(1, len(self._own)) if words & self._own[c]]
        return named[0] if len(named) == 1 else None

    def row(self, said: str) -> int | None:
        """The one row whose name the claim gives letter for letter."""
        low = said.lower()
        given = {
            low[start : start + size]
            for size in self._lengths[1]
            for start in range(len(low) - size + 1)
        }
        named = [r for name in given for r in self._names.get(name, ())]
        return named[0] if len(named) == 1 else None


def misplaced(said: str, known: Sequence[Table]) -> str:
    """Which value of the claim stands in another row or column than it speaks of, or ""."""
    for table in known:
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


def _inside(text: str, start: int, end: int) -> bool:
    """Whether the place lies within a word."""
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    return any(char.isalnum() or char == "_" for char in (*before, *after))


def _is_rule(line: str) -> bool:
    rule = line.strip()
    return set(rule) <= set("|:- ") and all("-" in cell for cell in _cells(rule)) and "|" in rule


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))
