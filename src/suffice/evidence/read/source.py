"""What every reader returns: the text of a document, and what it declares about itself."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from itertools import pairwise

from suffice.errors import Unreadable
from suffice.text.storable import replace_unstorable
from suffice.types import Kind


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What a document declares about itself."""

    title: str | None = None
    version: str | None = None
    effective: date | None = None
    expires: date | None = None
    kind: Kind | None = None
    access: frozenset[str] = frozenset()
    id: str | None = None
    """Documents with the same id are versions of each other, whatever their file names."""
    unread: tuple[str, ...] = ()
    """Keys that look related to validity but are not used."""


@dataclass(frozen=True, slots=True)
class Content:
    """The result of reading a document. All offsets refer to `text`.

    `body` is the offset after the front matter. `pages` holds the offset of each page, if the
    format has pages. If `markdown` is set, lines that start with `#` are headings.
    """

    text: str
    front: FrontMatter = field(default_factory=FrontMatter)
    body: int = 0
    pages: tuple[int, ...] = ()
    markdown: bool = False


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


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_TOO_MANY_CONTROLS = 0.1


def decode(data: bytes) -> str:
    """The text of a file that is not blank, with `\\n` as the only line ending."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if not wide and b"\0" in data:
        raise _binary()
    try:
        text = data.decode("utf-16" if wide else "utf-8")
    except UnicodeDecodeError as error:
        if not wide and _looks_binary(data.decode("latin-1")):
            raise _binary() from error
        encoding, byte = ("UTF-16" if wide else "UTF-8"), error.object[error.start]
        raise Unreadable(
            f"is not valid {encoding} (byte 0x{byte:02x} at offset {error.start})",
            remedy="Save it as UTF-8.",
        ) from error
    text = unix_lines(text.removeprefix("\ufeff"))
    if not text.strip():
        raise Unreadable("is empty")
    if _looks_binary(text):
        raise _binary()
    return text


def unix_lines(text: str) -> str:
    """The text with `\\n` as the only line ending."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def storable(text: str) -> str:
    """The text with characters that cannot be stored replaced. Offsets stay the same."""
    return replace_unstorable(text).replace("\r", "\n")


def _looks_binary(text: str) -> bool:
    controls = len(text) - len(_CONTROL.sub("", text))
    return "\0" in text or controls > _TOO_MANY_CONTROLS * len(text)


def _binary() -> Unreadable:
    return Unreadable(
        "looks like binary data, not text", remedy="Rename it with the correct suffix."
    )
