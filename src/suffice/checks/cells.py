"""A value out of a table belongs to its row and its column; a claim must be about them.

| Service  | By the employee | By the company |     "The company gives 13 weeks" takes the value of
| 10 years | 13 weeks        | 26 weeks       |     the wrong column: every word of it is there.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from suffice.checks.aligned import roots
from suffice.switch import rule
from suffice.text.facts.clauses import subject

_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_ADDED = re.compile(r"[,(;:]")


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
    def _heads(self) -> list[frozenset[str]]:
        """For each row the words of its name, without what is added behind a comma."""
        return [roots(_ADDED.split(row[0], maxsplit=1)[0]) for row in self.rows]

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], frozenset[str]]:
        """The numbers of each cell that has some."""
        cells = {(r, c): row[c] for r, row in enumerate(self.rows) for c in range(1, len(row))}
        return {place: given for place, cell in cells.items() if (given := numbers(cell))}

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

    def columns(self, said: str) -> list[int]:
        """The columns that a text names by what only their headers say, or else letter for letter:
        "off-peak" is not "peak"."""
        words, low = roots(said), said.lower()
        own = [c for c in range(1, len(self._own)) if words & self._own[c]]
        heads = {c: self.header[c].lower() for c in range(1, len(self.header))}
        given = {c: head for c, head in heads.items() if head and head in low}
        whole = [c for c, head in given.items() if low.count(head) > _within(head, given, low)]
        return own or whole

    def row(self, said: str) -> int | None:
        """The one row whose name the claim gives letter for letter, or else in all its words."""
        low = said.lower()
        given = {
            low[start : start + size]
            for size in self._lengths[1]
            for start in range(len(low) - size + 1)
        }
        named = [r for name in given for r in self._names.get(name, ())]
        if not named:
            words = roots(said)
            meant = [r for r, head in enumerate(self._heads) if head and head <= words]
            named = [r for r in meant if not any(self._heads[r] < self._heads[o] for o in meant)]
        return named[0] if len(named) == 1 else None

    def taken(self, said: str, row: int, column: int) -> tuple[int, int] | None:
        """The other cell of that row or column whose number the claim gives, where it gives nothing
        that the cell of both says."""
        given = numbers(said)
        cell = self.rows[row][column]
        mine = self._numbers.get((row, column), frozenset())
        if not cell or mine & given or (not mine and roots(cell) & roots(said)):
            return None
        others = (
            place
            for place, found in self._numbers.items()
            if place != (row, column) and (place[0] == row or place[1] == column) and found & given
        )
        return next(others, None)


@rule("misplaced", lambda said, known: "")
def misplaced(said: str, known: Sequence[Table]) -> str:
    """Which value of the claim stands in another row or column than it speaks of, or ""."""
    return next((why for table in known if (why := _misplaced(said, table))), "")


def _misplaced(said: str, table: Table) -> str:
    meant = table.columns(subject(said))
    columns = meant if len(meant) == 1 else table.columns(said)
    row = table.row(said)
    for r, c in table.holding(said):
        value = table.rows[r][c]
        if columns and c not in columns:
            named = "” or “".join(table.header[column] for column in columns)
            return f"“{value}” stands under “{table.header[c]}”, not “{named}”"
        if row is not None and r != row:
            return f"“{value}” stands beside “{table.rows[r][0]}”, not “{table.rows[row][0]}”"
    if row is not None and len(columns) == 1 and (place := table.taken(said, row, columns[0])):
        there, value = table.rows[row][columns[0]], table.rows[place[0]][place[1]]
        name = f"“{table.rows[row][0]}” under “{table.header[columns[0]]}”"
        return f"“{value}” is said of something else; the table has “{there}” for {name}"
    return ""


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text, "2.50" and "2.5" alike; clock times as they are written."""
    found = (number.replace(",", "") for number in _NUMBER.findall(text))
    return frozenset(
        one.rstrip("0").rstrip(".") if "." in one and ":" not in one else one for one in found
    )


def _within(name: str, given: Mapping[int, str], low: str) -> int:
    """How often a name stands inside longer ones."""
    longer = {other for other in given.values() if name in other and name != other}
    return sum(low.count(other) for other in longer)


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
