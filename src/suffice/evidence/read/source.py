"""What every reader returns: the text of one document as stored, and what it says of itself."""

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
    """Documents that share an id are versions of one document, whatever their file names."""
    unread: tuple[str, ...] = ()
    """Keys that seem to tell whether the document holds, and are not read."""


@dataclass(frozen=True, slots=True)
class Content:
    """A reader's result. `text` is the source text that all offsets point into.

    `body` is where the text proper begins (after front matter). `pages` holds the offset at which
    each page begins, for formats that have pages. `markdown` says that `#` lines are headings.
    """

    text: str
    front: FrontMatter = field(default_factory=FrontMatter)
    body: int = 0
    pages: tuple[int, ...] = ()
    markdown: bool = False
