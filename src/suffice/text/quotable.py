"""Splits a passage into blocks that can be understood alone: the units that are quoted.

A block is a paragraph, a list item with its lead-in, a whole short list, a table row with its
header, or the answer to a question that stands above it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from suffice.text.sentences import ITEM_MARK, Span, blocks, sentences
from suffice.text.statements import Statement, leans, statements

_LONGEST = 90
"""The words of a block; a longer paragraph or list is several."""
_STEPS = 180
"""The words of a list of numbered steps that is quoted as a whole."""
_ASKED = 40
"""The words of a paragraph that is the question of the next one."""
_HEADING = re.compile(r"[ \t]*#{1,6}[ \t]+(\S[^\n]*)")
_STEP = re.compile(r"\s*\d{1,3}[.)]\s")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Block:
    """A quotable part of a passage: its spans, and the headings within the passage above it."""

    slices: tuple[Span, ...]
    headings: tuple[str, ...] = ()
    asked: str = ""
    """The question that stands above it, if it is the answer to one."""

    def wording(self, passage: str) -> str:
        """The block as it is read, below the question that it answers."""
        parts = (passage[start:end] for start, end in self.slices)
        return "\n".join([*([self.asked] if self.asked else []), *parts])

    def covers(self, statement: Statement) -> bool:
        """Whether the statement's own words stand in the block."""
        start, end = statement.slices[-1]
        return any(a < end and start < b for a, b in self.slices)


def quotable(text: str) -> list[Block]:
    """The blocks of a passage, in order."""
    found: list[Block] = []
    headings: tuple[tuple[int, str], ...] = ()
    lead: Span | None = None
    asked = ""
    for kind, run in groupby(_parts(text), key=lambda part: part[0]):
        spans = [span for _, span in run]
        if kind == "heading":
            headings = _below(headings, [text[slice(*span)] for span in spans])
            lead, asked = None, ""
            continue
        above = tuple(name for _, name in headings)
        if kind == "row":
            found += [Block(row, above) for row in _rows(text, spans)]
        elif kind in ("step", "item"):
            found += [Block(one, above, asked) for one in _list(text, spans, lead)]
        else:
            last = text[slice(*spans[-1])].rstrip("*_ ")
            lead = spans.pop() if last.endswith(":") else None
            for span in spans:
                if is_question(text[slice(*span)]):
                    asked = text[slice(*span)]
                    continue
                own = [Block((one,), above, asked) for one in _paragraph(text, span)]
                before = found[-1:] if span != spans[0] and not asked else []
                if before and leans(text[slice(*span)]):
                    own = _with(before[0], own, text)
                    del found[-1]
                found += own
                asked = ""
            continue
        lead, asked = None, ""
    return found


def _with(before: Block, own: list[Block], text: str) -> list[Block]:
    """A paragraph that refers to the one before it ("However, …"), together with it."""
    whole = before.slices[0][0], own[0].slices[-1][1]
    if _size(text, whole) > _LONGEST:
        return [before, *own]
    return [replace(before, slices=(whole,)), *own[1:]]


def is_heading(text: str) -> bool:
    return bool(_HEADING.fullmatch(text))


def is_question(paragraph: str) -> bool:
    return paragraph.rstrip("*_ ").endswith("?") and len(_WORD.findall(paragraph)) <= _ASKED


def _below(
    headings: tuple[tuple[int, str], ...], lines: Sequence[str]
) -> tuple[tuple[int, str], ...]:
    """The headings in force, with their levels, after more heading lines."""
    for line in lines:
        name = line.strip().lstrip("#")
        level = len(line.strip()) - len(name)
        headings = (*(one for one in headings if one[0] < level), (level, name.strip()))
    return headings


def _rows(text: str, spans: Sequence[Span]) -> Iterator[tuple[Span, ...]]:
    """The rows of a table, each with its header."""
    first, last = spans[0][0], spans[-1][1]
    for row in statements(text[first:last]):
        yield tuple((first + start, first + end) for start, end in row.slices)


def _parts(text: str) -> Iterator[tuple[str, Span]]:
    """The lines that belong together, by their kind. What is indented within a list belongs to
    it."""
    listed = ""
    for start, end in blocks(text):
        line = text[start:end]
        span = start + len(line) - len(line.lstrip()), end - len(line) + len(line.rstrip())
        if listed and line[:2].isspace():
            yield listed, span
            continue
        listed = ("step" if _STEP.match(line) else "item") if ITEM_MARK.match(line) else ""
        row = "|" in line and "\n" not in line.strip()
        yield "heading" if _HEADING.match(line) else listed or ("row" if row else "text"), span


def _list(text: str, spans: Sequence[Span], lead: Span | None) -> Iterator[tuple[Span, ...]]:
    first = lead[0] if lead else spans[0][0]
    whole = first, spans[-1][1]
    steps = _STEP.match(text, spans[0][0])
    if _size(text, whole) <= (_STEPS if steps else _LONGEST):
        yield (whole,)
        return
    items: list[Span] = []
    for span in spans:
        if ITEM_MARK.match(text[slice(*span)]) or not items:
            items.append(span)
        else:
            items[-1] = items[-1][0], span[1]
    for item in items:
        yield (lead, item) if lead else (item,)


def _paragraph(text: str, span: Span) -> Iterator[Span]:
    """A paragraph, or the runs of its sentences that are short enough."""
    if _size(text, span) <= _LONGEST:
        yield span
        return
    start = end = span[0]
    for first, last in sentences(text[slice(*span)]):
        last_end = span[0] + last
        if end > start and _size(text, (start, last_end)) > _LONGEST:
            yield start, end
            start = span[0] + first
        end = last_end
    yield start, end


def _size(text: str, span: Span) -> int:
    return len(_WORD.findall(text[slice(*span)]))
