"""Opens Word files, which are zip archives of XML parts, with limits against hostile input."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from zipfile import BadZipFile, ZipFile

from suffice.errors import Unreadable
from suffice.evidence.read.blocks import check_elements

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
