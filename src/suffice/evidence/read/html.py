"""Reads HTML: the visible text as Markdown-like text. Malformed markup is tolerated."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

from suffice.errors import Unreadable
from suffice.evidence.read.frontmatter import declared
from suffice.evidence.read.source import (
    Block,
    Content,
    Shape,
    check_elements,
    decode,
    first_heading,
    join_blocks,
)
from suffice.text.one_line import one_line

_META = frozenset({"version", "effective", "expires", "kind", "access", "date"})
_DROPPED = frozenset({"nav", "template", "noscript"})
_PREFIX = {f"h{level}": "#" * level + " " for level in range(1, 7)} | {"li": "- "}
_BREAKING = frozenset(
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset"
    " figcaption figure footer form head header hr legend main ol option p section select summary"
    " table tbody tfoot thead ul".split()
) | frozenset(_PREFIX)
_ENDS_PREFIX = frozenset(_PREFIX) | {"ul", "ol", "table"}

_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[.*?(?:>|\Z)|<(script|style)(?=[\s/>]).*?(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TAG_BEGINS = re.compile(r"<[a-zA-Z/!?]")


def read(data: bytes) -> Content:
    """The visible text. `<title>` (or the first h1) and `<meta>` become front matter."""
    page = _Page()
    page.feed(parsable(decode(data)))
    page.finish()
    text = join_blocks(page.blocks)
    if not text:
        raise Unreadable("has no visible text")
    page.meta.setdefault("effective", page.meta.get("date"))
    front = declared(page.meta)
    title = " ".join("".join(page.title).split()) or first_heading(text)
    return Content(text=text, front=replace(front, title=title), markdown=True)


def parsable(source: str) -> str:
    """The source without scripts, styles and comments, and without an incomplete tag at its end.

    If unclosed, these cost html.parser quadratic time.
    """
    source = _UNSEEN.sub("", source)
    cut = _TAG_BEGINS.search(source, source.rfind(">") + 1)
    return source[: cut.start()] if cut else source


class _Page(HTMLParser):
    """Collects blocks. Text goes to the open table cell, or to the open block outside tables."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self.meta: dict[str, str | None] = {}
        self.title: list[str] = []
        self._inline: list[str] = []
        self._row: list[list[str]] = []
        self._prefix = ""
        self._dropping = ""  # the dropped element that is open
        self._nested = 0  # how often it is open
        self._tags = 0
        self._in_title = False
        self._in_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._tags += 1
        check_elements(self._tags)
        if self._dropping or tag in _DROPPED:
            self._flush()
            self._dropping = self._dropping or tag
            self._nested += tag == self._dropping
        elif tag == "title":
            self._in_title = True
        elif tag == "meta":
            self._declare(dict(attrs))
        elif tag == "br":
            self._break()
        elif tag in ("td", "th"):
            self._flush()
            self._row.append([])
        elif tag in ("tr", "table"):
            self._end_row()
        elif tag == "pre":
            self._flush()
            self._in_pre = not self._row
        elif tag in _BREAKING:
            self._flush()
            self._prefix = _PREFIX.get(tag, self._prefix)

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            self._nested -= tag == self._dropping
            self._dropping = self._dropping if self._nested else ""
        elif tag == "title":
            self._in_title = False
        elif tag in ("tr", "table"):
            self._end_row()
        elif tag == "pre":
            self._end_pre()
        elif tag in _BREAKING:
            self._flush()
        if tag in _ENDS_PREFIX:
            self._prefix = ""

    def handle_data(self, data: str) -> None:
        if self._dropping:
            return
        if self._in_title:
            self.title.append(data)
        else:
            (self._row[-1] if self._row else self._inline).append(data)

    def finish(self) -> None:
        """Close all elements that are still open."""
        self.close()
        self._end_row()
        self._end_pre()

    def _declare(self, attrs: dict[str, str | None]) -> None:
        name = (attrs.get("name") or "").strip().lower()
        if name in _META:
            self.meta.setdefault(name, attrs.get("content"))

    def _break(self) -> None:
        """End a line of a paragraph at `<br>`, or the paragraph at two in a row."""
        if self._row or self._prefix:
            self.handle_data(" ")
            return
        before = len(self.blocks)
        self._flush()
        if len(self.blocks) > before:
            self.blocks[-1] = replace(self.blocks[-1], shape=Shape.LINE)

    def _flush(self) -> None:
        """End the open block: with a space in a table cell, with a line break in `<pre>`."""
        if self._row or self._in_pre:
            self.handle_data(" " if self._row else "\n")
            return
        text = one_line("".join(self._inline))
        self._inline.clear()
        if text:
            shape = Shape.ITEM if self._prefix == "- " else Shape.TEXT
            self.blocks.append(Block(self._prefix + text, shape))
            self._prefix = ""
        elif self.blocks and self.blocks[-1].shape is Shape.LINE:
            self.blocks[-1] = replace(self.blocks[-1], shape=Shape.TEXT)

    def _end_row(self) -> None:
        cells = [one_line("".join(cell)) for cell in self._row]
        self._row.clear()
        if any(cells):
            self.blocks.append(Block(" | ".join(cells), Shape.ROW))
        self._flush()

    def _end_pre(self) -> None:
        """Put preformatted text in a code fence, so that a `#` in it does not become a heading."""
        if self._in_pre:
            text = "".join(self._inline).strip("\n")
            self._inline.clear()
            if text.strip():
                self.blocks.append(Block(f"```\n{text}\n```"))
        self._in_pre = False
        self._flush()
