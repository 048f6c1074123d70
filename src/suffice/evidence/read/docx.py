"""Reads Word files: paragraphs, lists, tables and text boxes in order, as Markdown-like text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from xml.etree.ElementTree import Element

from suffice.evidence.read.blocks import Block, Shape, first_heading, join_blocks
from suffice.evidence.read.ooxml import attribute, open_package
from suffice.evidence.read.source import Content, FrontMatter

# XML cannot contain these two characters, so they can safely mark page breaks.
_ASKED, _RENDERED = "\f", "\v"
_PAGE_BREAK = re.compile(r"[\f\v]")
_SPACE_WITH_BREAKS = re.compile(r"[ \t\n\f\v]+")

_PROPERTIES = "w:pPr"
_SIGNS = {
    "w:tab": "\t",
    "w:cr": "\n",
    "w:noBreakHyphen": "-",
    "w:lastRenderedPageBreak": _RENDERED,
}
_HEADING = re.compile(r"heading ?([1-9])")
_LIST = re.compile(r"list ?(?:bullet|number)")


def read(data: bytes) -> Content:
    """The text of the body. `pages` is empty if the file has no page breaks."""
    package = open_package(data)
    blocks = _carry_breaks(_blocks(package.document, package.styles))
    text, pages = _paged(join_blocks(blocks))
    title = package.title or first_heading(text)
    return Content(text=text, front=FrontMatter(title=title), pages=pages, markdown=True)


def _blocks(container: Element, styles: Mapping[str, str]) -> Iterator[Block]:
    for child in container:
        name = child.tag
        if name == "w:p":
            text, boxes = _paragraph(child)
            yield _marked(text, _mark(child, styles))
            for box in boxes:
                yield from _blocks(box, styles)
        elif name == "w:tbl":
            for row in _within(child, "w:tr"):
                yield Block(_row([_words(cell) for cell in _within(row, "w:tc")]), Shape.ROW)
        elif name != _PROPERTIES:
            yield from _blocks(child, styles)


def _paragraph(paragraph: Element) -> tuple[str, list[Element]]:
    """The text of a paragraph, and the text boxes anchored in it."""
    boxes: list[Element] = []
    return "".join(_runs(paragraph, boxes)).strip(" \t\n"), boxes


def _runs(element: Element, boxes: list[Element]) -> Iterator[str]:
    for child in element:
        name = child.tag
        if name == "w:t":
            yield child.text or ""
        elif name == "w:br":
            yield _ASKED if attribute(child, "type") == "page" else "\n"
        elif name == "w:txbxContent":
            boxes.append(child)
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name != _PROPERTIES:
            yield from _runs(child, boxes)


def _mark(paragraph: Element, styles: Mapping[str, str]) -> str:
    """The Markdown prefix of a heading or list item, from its style or numbering."""
    declared = next((part for part in paragraph if part.tag == _PROPERTIES), ())
    properties = {item.tag: item for item in declared}
    style = attribute(properties.get("w:pStyle"), "val").lower()
    for name in (styles.get(style, style), style):
        if heading := _HEADING.fullmatch(name):
            return "#" * min(int(heading[1]), 6) + " "
        if name == "title":
            return "# "
        if _LIST.match(name):
            return "- "
    numbering = {item.tag: item for item in properties.get("w:numPr", ())}
    return "- " if attribute(numbering.get("w:numId"), "val") not in ("", "0") else ""


def _marked(text: str, mark: str) -> Block:
    """A block with its Markdown prefix, placed after leading page breaks."""
    if not mark:
        return Block(text)
    line = _one_line(text)
    begins = len(line) - len(line.lstrip(" \f\v"))
    shape = Shape.ITEM if mark == "- " else Shape.TEXT
    return Block(line[:begins] + mark + line[begins:] if line[begins:] else line, shape)


def _within(element: Element, wanted: str) -> Iterator[Element]:
    """The nearest descendants with that name."""
    for child in element:
        name = child.tag
        if name == wanted:
            yield child
        elif name != _PROPERTIES:
            yield from _within(child, wanted)


def _words(container: Element) -> str:
    """The paragraphs of a table cell or text box, on one line."""
    pieces: list[str] = []
    for paragraph in _within(container, "w:p"):
        text, boxes = _paragraph(paragraph)
        pieces += [text, *map(_words, boxes)]
    return _one_line(" ".join(pieces))


def _one_line(text: str) -> str:
    return re.sub(r"[ \t\n]+", " ", text).strip(" ")


def _row(cells: list[str]) -> str:
    """A table row. If a page break splits it, every cell has the break; only one is kept."""
    cut = next((n for n, cell in enumerate(cells) if _PAGE_BREAK.search(cell)), None)
    kept = [cell if n == cut else _PAGE_BREAK.sub("", cell) for n, cell in enumerate(cells)]
    return " | ".join(kept) if any(_visible(cell) for cell in kept) else "".join(kept)


def _visible(text: str) -> bool:
    return bool(_SPACE_WITH_BREAKS.sub("", text))


def _carry_breaks(blocks: Iterator[Block]) -> list[Block]:
    """Drop blank blocks and move their page breaks to the next block."""
    kept, carried = [], ""
    for block in blocks:
        if _visible(block.text):
            kept.append(replace(block, text=carried + block.text))
            carried = ""
        else:
            carried += "".join(_PAGE_BREAK.findall(block.text))
    return kept


def _paged(text: str) -> tuple[str, tuple[int, ...]]:
    """The text without page breaks, and the offset of the first visible character of each page."""
    parts = _PAGE_BREAK.split(_SPACE_WITH_BREAKS.sub(_breaks_last, text))
    starts, length = [0], 0
    for part in parts[:-1]:
        length += len(part)
        starts.append(length)
    return "".join(parts), tuple(starts) if len(starts) > 1 else ()


def _breaks_last(space: re.Match[str]) -> str:
    """The white space, then the page breaks. A break both requested and rendered counts once."""
    breaks = "".join(_PAGE_BREAK.findall(space[0]))
    return _PAGE_BREAK.sub("", space[0]) + breaks.replace(_ASKED + _RENDERED, _ASKED)
