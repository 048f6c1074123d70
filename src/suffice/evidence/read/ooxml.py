"""Opens Word files, which are zip archives of XML parts, with limits against hostile input."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from zipfile import BadZipFile, ZipFile

from suffice.errors import Unreadable

_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
}
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


def name_of(element: Element) -> str:
    """The name with its standard prefix, such as "w:p", whatever prefix the file uses."""
    space, _, local = element.tag[1:].rpartition("}")
    return f"{_PREFIXES.get(space, '?')}:{local}"


def attribute(element: Element | None, name: str) -> str:
    """The value of a Word attribute; empty if the attribute or the element is missing."""
    if element is None:
        return ""
    spaces = (space for space, prefix in _PREFIXES.items() if prefix == "w")
    return next(filter(None, (element.get(f"{{{space}}}{name}") for space in spaces)), "")


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
        parts = {name_of(part): part for part in style}
        names[attribute(style, "styleId").lower()] = attribute(parts.get("w:name"), "val").lower()
    return names


def _title(core: Element | None) -> str | None:
    found = None if core is None else core.find("{http://purl.org/dc/elements/1.1/}title")
    text = "" if found is None else found.text or ""
    return " ".join(text.split()) or None


def _part(archive: ZipFile, name: str) -> Element | None:
    """The root element of an XML part; `None` if the part does not exist."""
    if name not in archive.NameToInfo:
        return None
    if archive.getinfo(name).file_size > _LARGEST_PART:
        raise Unreadable(f"unpacks to more than {_LARGEST_PART // 1_000_000} MB ({name})")
    parser = XMLParser(target=_NoDoctype())
    parser.feed(archive.read(name))
    root: Element = parser.close()
    return root


class _NoDoctype(TreeBuilder):
    """Rejects document type declarations: Word writes none, and entities can expand endlessly."""

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise Unreadable("contains a document type declaration, which Word files never have")


def _ole(data: bytes) -> Unreadable:
    """The error for an OLE container, which is an encrypted .docx or an old .doc file."""
    if "WordDocument".encode("utf-16-le") in data:
        return Unreadable("is an old Word file (.doc)", remedy="Save it as .docx.")
    return Unreadable("is encrypted", remedy="Remove the password, then read it again.")
