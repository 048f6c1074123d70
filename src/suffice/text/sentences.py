"""Sentences with exact spans: `text[start:end]` is the sentence, without white space around."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

Span = tuple[int, int]

# A list item, a table row or a heading is a unit of its own, even without a full stop.
_UNIT_START = re.compile(r"[ \t]*(?:[-*+•]\s|\d{1,3}[.)]\s|\||#{1,6}\s|>\s|\*\*[A-Z]:)")
_ROW = re.compile(r"[^\n|]*\|[^\n]*")
# "…in the brain.The next sentence": extracted text often loses the space between sentences.
_GLUED = re.compile(r"(?:(?<=[a-z]{3})|(?<=[)%]))[.!?](?=[A-Z][a-z]*[ ,])")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")


def sentences(text: str) -> list[Span]:
    """The spans of the sentences of a text, in order; Markdown items and rows stay whole."""
    return [span for block in blocks(text) for span in _split_block(text, *block)]


def blocks(text: str) -> Iterator[Span]:
    """Runs of lines that belong together: a paragraph, one list item, one table row, a heading."""
    start: int | None = None
    end = 0
    fenced = False
    for line_start, line_end in _lines(text):
        line = text[line_start:line_end]
        fence = bool(_FENCE.match(line))
        breaks = not line.strip() or bool(_UNIT_START.match(line)) or bool(_ROW.fullmatch(line))
        if start is not None and breaks and not fenced:
            yield start, end
            start = None
        if line.strip() and start is None:
            start = line_start
        end = line_end
        fenced ^= fence
    if start is not None:
        yield start, end


def _lines(text: str) -> Iterator[Span]:
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline
        yield start, end
        start = end + 1


def _split_block(text: str, start: int, end: int) -> Iterator[Span]:
    block = text[start:end]
    if "|" in block or _FENCE.match(block):
        yield from _trimmed(text, start, end)
        return
    for first, last in _splitter().sent_spans(block):
        cuts = [m.end() for m in _GLUED.finditer(block, first, last)]
        for one, other in pairwise((first, *cuts, last)):
            yield from _trimmed(text, start + one, start + other)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


@cache
def _splitter() -> Any:
    # Loaded on first use: it reads a data file, and `import suffice` stays light.
    import nupunkt

    return nupunkt
