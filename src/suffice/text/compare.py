"""The differences between two texts, line by line, with the changed words of each line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_LONGEST_LINE = 4_000
"""Longer lines are compared as a whole."""
MOST_LINES = 20_000


class Change(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a line; `changed` if it does not occur in the line that this one replaces."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A line of either text, with its numbers from 1 (`None`: not in that text)."""

    change: Change
    old: int | None
    new: int | None
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Hunk:
    """A run of changed lines with the lines around it."""

    lines: tuple[Line, ...]


def compare(old: str, new: str, context: int = 2) -> list[Hunk]:
    """The changed places of two texts; empty if they are equal.

    >>> [(line.change.value, line.parts[0].text) for line in compare("a\\nb", "a\\nc")[0].lines]
    [('same', 'a'), ('removed', 'b'), ('added', 'c')]
    """
    before, after = old.splitlines()[:MOST_LINES], new.splitlines()[:MOST_LINES]
    matcher = SequenceMatcher(None, before, after, autojunk=len(before) + len(after) > 2_000)
    return [
        Hunk(tuple(line for step in group for line in _lines(step, before, after)))
        for group in matcher.get_grouped_opcodes(context)
    ]


def counts(hunks: Sequence[Hunk]) -> tuple[int, int]:
    """The numbers of removed and added lines."""
    kinds = [line.change for hunk in hunks for line in hunk.lines]
    return kinds.count(Change.REMOVED), kinds.count(Change.ADDED)


Step = tuple[str, int, int, int, int]


def _lines(step: Step, before: Sequence[str], after: Sequence[str]) -> Iterator[Line]:
    tag, a, b, c, d = step
    if tag == "equal":
        for n in range(b - a):
            yield Line(Change.SAME, a + n + 1, c + n + 1, (Part(before[a + n]),))
        return
    pairs = [_words(*both) for both in zip(before[a:b], after[c:d], strict=False)]
    for n in range(a, b):
        parts = pairs[n - a][0] if n - a < len(pairs) else (Part(before[n], changed=True),)
        yield Line(Change.REMOVED, n + 1, None, parts)
    for n in range(c, d):
        parts = pairs[n - c][1] if n - c < len(pairs) else (Part(after[n], changed=True),)
        yield Line(Change.ADDED, None, n + 1, parts)


def _words(old: str, new: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Two lines in parts, with the words in which they differ marked."""
    if max(len(old), len(new)) > _LONGEST_LINE:
        return (Part(old, changed=True),), (Part(new, changed=True),)
    first, second = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    left, right = [], []
    for tag, a, b, c, d in matcher.get_opcodes():
        differs = tag != "equal"
        left += [Part("".join(first[a:b]), differs)] if b > a else []
        right += [Part("".join(second[c:d]), differs)] if d > c else []
    return tuple(left), tuple(right)
