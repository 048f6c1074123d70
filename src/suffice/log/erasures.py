"""Compares erased fields with the erasure records, so that no payload disappears unnoticed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

KIND = "erasure"
Span = tuple[int, int]
"""The first and last sequence number of a run."""


def spans(sequences: Iterable[int]) -> list[Span]:
    """Group ordered sequence numbers into runs.

    >>> spans([1, 2, 3, 7])
    [(1, 3), (7, 7)]
    """
    found: list[Span] = []
    for sequence in sequences:
        if found and found[-1][1] == sequence - 1:
            found[-1] = (found[-1][0], sequence)
        else:
            found.append((sequence, sequence))
    return found


@dataclass(slots=True)
class _MissingRun:
    """A run of records that lack the same fields; `id` is the id of the first."""

    start: int
    end: int
    names: frozenset[str]
    id: str


@dataclass(slots=True)
class Erasures:
    """The missing fields, and the fields that erasure records declare as erased."""

    gone: list[_MissingRun] = field(default_factory=list)
    declared: list[tuple[int, Span, frozenset[str] | None]] = field(default_factory=list)
    records: int = 0

    def lacks(self, sequence: int, names: frozenset[str], id: str) -> None:
        self.records += 1
        last = self.gone[-1] if self.gone else None
        if last and last.end == sequence - 1 and last.names == names:
            last.end = sequence
        else:
            self.gone.append(_MissingRun(sequence, sequence, names, id))

    def declares(self, sequence: int, fields: dict[str, Any]) -> None:
        """Add an erasure record; its field `erased` lists field names, `None` means all."""
        erased = fields.get("erased")
        names = None if erased is None else frozenset(erased)
        for start, end in fields.get("records", ()):
            self.declared.append((sequence, (start, end), names))

    def silent(self) -> Iterator[tuple[int, str, frozenset[str]]]:
        """The first record of each run with missing fields that no later record declares."""
        for run in self.gone:
            sequence = run.start
            while sequence <= run.end:
                left, until = self._left(sequence, run)
                if left:
                    yield sequence, run.id if sequence == run.start else "", left
                sequence = until + 1

    def _left(self, sequence: int, run: _MissingRun) -> tuple[frozenset[str], int]:
        """The undeclared fields of a record, and the last record for which this result holds."""
        left, until = run.names, run.end
        for declared_at, (start, end), names in self.declared:
            if declared_at <= sequence:
                continue
            if start <= sequence <= end:
                left = frozenset() if names is None else left - names
                until = min(until, end, declared_at - 1)
            elif start > sequence:
                until = min(until, start - 1)
        return left, until
