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
from suffice.text.statements import Statement, statements

_LONGEST = 90
"""The words of a block; a longer paragraph or list is several."""
_STEPS = 180
"""The words of a list of numbered steps that is quoted as a whole."""
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

    def text(self, passage: str) -> str:
        return "\n".join(passage[start:end] for start, end in self.slices)

    def covers(self, statement: Statement) -> bool:
        """Whether the statement's own words stand in the block."""
        start, end = statement.slices[-1]
        return any(a < end and start < b for a, b in self.slices)


def quotable(text: str) -> list[Block]:
    """The blocks of a passage, in order."""
    found: list[Block] = []
    headings: list[tuple[int, str]] = []
    lead: Span | None = None
    asked = ""
    for kind, run in groupby(_parts(text), key=lambda part: part[0]):
        spans = [span for _, span in run]
        if kind == "heading":
            for start, end in spans:
                level = len(text[start:end].lstrip()) - len(text[start:end].lstrip().lstrip("#"))
                headings = [one for one in headings if one[0] < level]
                headings.append((level, text[start:end].strip().lstrip("#").strip()))
            lead, asked = None, ""
            continue
        above = tuple(name for _, name in headings)
        if kind == "row":
            rows = [
                one for one in statements(text[: spans[-1][1]]) if one.slices[-1][0] >= spans[0][0]
            ]
            found += [
                Block(row.slices, above) for row in rows if "|" in text[slice(*row.slices[-1])]
            ]
        elif kind == "item":
            found += [Block(one, above, asked) for one in _list(text, spans, lead)]
            asked = ""
        else:
            lead = None
            for span in spans:
                paragraph = text[slice(*span)]
                if paragraph.rstrip("*_ ").endswith("?") and len(_WORD.findall(paragraph)) <= 40:
                    asked = paragraph
                    continue
                lead = span if paragraph.rstrip("*_ ").endswith(":") else None
                found += [Block((one,), above, asked) for one in _paragraph(text, span)]
                asked = ""
            if lead and _followed_by_list(text, lead):
                found.pop()
            continue
        lead = None
    return found


def _followed_by_list(text: str, lead: Span) -> bool:
    return bool(re.match(r"\s*\n\s*(?:[-*+•]|\d{1,3}[.)])\s", text[lead[1] :]))


def _parts(text: str) -> Iterator[tuple[str, Span]]:
    """The lines that belong together, by their kind. A paragraph within a list belongs to its
    item."""
    listed = False
    for start, end in blocks(text):
        line = text[start:end]
        start += len(line) - len(line.lstrip())
        end -= len(line) - len(line.rstrip())
        if _HEADING.match(line):
            kind = "heading"
        elif "|" in line and "\n" not in line.strip() and line.count("|") > 1:
            kind = "row"
        elif ITEM_MARK.match(line):
            kind = "item"
        else:
            kind = "more" if listed and line[:2].isspace() else "text"
        listed = kind in ("item", "more")
        yield ("item" if kind == "more" else kind), (start, end)


def _list(text: str, spans: Sequence[Span], lead: Span | None) -> Iterator[tuple[Span, ...]]:
    first = lead[0] if lead else spans[0][0]
    whole = first, spans[-1][1]
    steps = bool(_STEP.match(text[slice(*spans[0])]))
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


def joined(first: Block, second: Block) -> Block:
    """Two blocks that follow each other as one."""
    span = first.slices[0][0], second.slices[-1][1]
    return replace(first, slices=(span,))
