"""Reads Word files: paragraphs, lists, tables and text boxes in order, as Markdown-like text."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from zipfile import BadZipFile, ZipFile

from suffice.errors import Unreadable
from suffice.evidence.read.source import (
    Block,
    Content,
    FrontMatter,
    Shape,
    check_elements,
    first_heading,
    join_blocks,
)

_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://purl.org/dc/elements/1.1/": "dc",
}
_UNREAD = frozenset({"w:rPr", "w:sectPr", "w:del", "w:moveFrom", "mc:Fallback"})
"""Elements that no reader needs. They make up most of a Word file, so they are not kept."""
_ATTRIBUTES = {f"w:{name}": name for name in ("val", "type", "styleId")}
_PIECE = 65_536
_DEEPEST = 256
_ALWAYS_UNPACKED = 20_000_000
_RATIO = 100
_OLE = bytes.fromhex("D0CF11E0")
_LARGEST_PART = 200_000_000
_DOCUMENT = re.compile(r"word/document\d*\.xml")


@dataclass(frozen=True, slots=True)
class Package:
    """The parts of a Word file that the reader needs. `styles` maps ids to names, in lower case."""

    document: Element
    styles: dict[str, str]
    title: str | None


def open_package(data: bytes) -> Package:
    """Unpack a Word file, or raise `Unreadable` with the reason."""
    if data.startswith(_OLE):
        raise _ole(data)
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            return _unpack(archive)
    except BadZipFile as error:
        raise Unreadable("is damaged or not a Word file") from error
    except ParseError as error:
        raise Unreadable(f"contains damaged XML ({error})") from error


def attribute(element: Element | None, name: str) -> str:
    """The value of a Word attribute; empty if the attribute or the element is missing."""
    return "" if element is None else element.get(name, "")


def _unpack(archive: ZipFile) -> Package:
    names = filter(_DOCUMENT.fullmatch, archive.namelist())
    document = _part(archive, next(names, "word/document.xml"))
    if document is None:
        raise Unreadable("is not a Word file: it has no word/document.xml")
    styles = _part(archive, "word/styles.xml")
    core = _part(archive, "docProps/core.xml")
    return Package(document, _style_names(styles), _title(core))


def _style_names(styles: Element | None) -> dict[str, str]:
    names = {}
    for style in () if styles is None else styles:
        parts = {part.tag: part for part in style}
        names[attribute(style, "styleId").lower()] = attribute(parts.get("w:name"), "val").lower()
    return names


def _title(core: Element | None) -> str | None:
    found = next((part for part in core or () if part.tag == "dc:title"), None)
    text = "" if found is None else found.text or ""
    return " ".join(text.split()) or None


def _part(archive: ZipFile, name: str) -> Element | None:
    """The root element of an XML part; `None` if the part does not exist."""
    if name not in archive.NameToInfo:
        return None
    packed = archive.getinfo(name).compress_size
    most = min(_LARGEST_PART, max(_ALWAYS_UNPACKED, _RATIO * packed))
    parser = XMLParser(target=_Builder())
    size = 0
    with archive.open(name) as part:
        while data := part.read(_PIECE):
            size += len(data)
            if size > most:
                raise Unreadable(
                    f"unpacks to more than {most / 1e6:.0f} MB ({name})", remedy="Split the file."
                )
            parser.feed(data)
    root: Element = parser.close()
    return root


class _Builder:
    """Builds the tree of the elements that are read, with prefixed names such as "w:p", whatever
    prefix the file uses, and with the attributes that are read."""

    def __init__(self) -> None:
        self._tree = TreeBuilder()
        self._names: dict[str, str] = {}
        self._elements = 0
        self._depth = 0
        self._unread = 0
        """The depth of the outermost open element that is not kept; 0 without one."""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        self._depth += 1
        check_elements(self._elements)
        if self._depth > _DEEPEST:
            raise Unreadable("is nested too deeply", remedy="Save it with fewer nested tables.")
        if self._unread:
            return
        name = self._name(tag)
        if name in _UNREAD:
            self._unread = self._depth
        else:
            named = ((_ATTRIBUTES.get(self._name(key)), attributes[key]) for key in attributes)
            self._tree.start(name, {key: value for key, value in named if key and value})

    def end(self, tag: str) -> None:
        if not self._unread:
            self._tree.end(self._name(tag))
        elif self._unread == self._depth:
            self._unread = 0
        self._depth -= 1

    def data(self, text: str) -> None:
        if not self._unread:
            self._tree.data(text)

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        """Reject the declaration: Word writes none, and entities can expand endlessly."""
        raise Unreadable("contains a document type declaration, which Word files never have")

    def close(self) -> Element:
        return self._tree.close()

    def _name(self, tag: str) -> str:
        name = self._names.get(tag)
        if name is None:
            space, _, local = tag[1:].rpartition("}")
            name = self._names[tag] = f"{_PREFIXES.get(space, '?')}:{local}"
        return name


def _ole(data: bytes) -> Unreadable:
    """The error for an OLE container, which is an encrypted .docx or an old .doc file."""
    if "WordDocument".encode("utf-16-le") in data:
        return Unreadable("is an old Word file (.doc)", remedy="Save it as .docx.")
    return Unreadable("is encrypted", remedy="Remove the password, then read it again.")


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
