"""The result of every reader: the stored text of one document, and what it declares about
itself."""

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
    """Documents with the same id are versions of one document, whatever their file names."""
    unread: tuple[str, ...] = ()
    """Keys that seem to concern validity and are not used."""


@dataclass(frozen=True, slots=True)
class Content:
    """A reader's result. `text` is the source text that all offsets refer to.

    `body` is the offset after front matter. `pages` holds the offset of each page, for formats with
    pages. `markdown` means that `#` lines are headings.
    """

    text: str
    front: FrontMatter = field(default_factory=FrontMatter)
    body: int = 0
    pages: tuple[int, ...] = ()
    markdown: bool = False
