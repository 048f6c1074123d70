"""What every reader returns: the text of a document, and what it declares about itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date

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
