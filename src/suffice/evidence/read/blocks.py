"""Blocks of a formatted document, and their conversion to Markdown-like text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from suffice.errors import Unreadable

_MOST = 100_000_000  # characters
_MOST_ELEMENTS = 2_000_000
"""Elements, values or cells of a file. Each takes a few hundred bytes of memory, whatever its
size."""


class Shape(Enum):
    """The type of a block, which determines the space after it."""

    TEXT = "text"
    LINE = "line"
    """A line of a paragraph that continues in the next block."""
    ITEM = "item"
    ROW = "row"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, list item or table row. `text` includes its Markdown prefix, such as `#
    `."""

    text: str
    shape: Shape = Shape.TEXT


def check_text(size: int) -> None:
    """Raise if the text of a file becomes too long while it is read."""
    if size > _MOST:
        raise Unreadable("expands to more than 100 million characters", remedy="Split the file.")


def check_elements(count: int) -> None:
    """Raise if a file consists of too many elements, however short they are."""
    if count > _MOST_ELEMENTS:
        raise Unreadable(f"has more than {_MOST_ELEMENTS:,} elements", remedy="Split the file.")


def join_blocks(blocks: list[Block]) -> str:
    """Join blocks into one text, with blank lines between them except within lists and tables.

    The first row of a table is its header and gets a Markdown rule below it.
    """
    parts = [blocks[0].text] if blocks else []
    header = True
    for before, block in pairwise(blocks):
        rows = before.shape is block.shape is Shape.ROW
        if rows and header and "|" in before.text:
            parts.append("\n" + " | ".join(["---"] * (before.text.count("|") + 1)))
        header = not rows
        close = before.shape is Shape.LINE or before.shape is block.shape is not Shape.TEXT
        parts += ["\n" if close else "\n\n", block.text]
    return "".join(parts)


def join_lines(lines: Iterable[str]) -> str:
    """Join lines into one text. The size is limited, because keys are repeated for every value."""
    kept, size = [], 0
    for line in lines:
        kept.append(line)
        size += len(line) + 1
        check_text(size)
    return "\n".join(kept)


def first_heading(text: str, start: int = 0) -> str | None:
    """The first `# ` heading outside fenced code."""
    fence = ""
    for line in text[start:].split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        elif not fence and line.startswith("# "):
            heading = line[2:].strip().rstrip("#").rstrip()
            if heading:
                return heading
    return None
