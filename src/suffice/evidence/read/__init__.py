"""Reads files: takes bytes and returns `Content`, or raises `Unreadable` with a reason and remedy.

Readers in this package raise only the predicate, such as `Unreadable("is empty")`. The functions
here add the file name.
"""

from __future__ import annotations

import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from suffice.errors import Unreadable
from suffice.evidence.read import docx, html, markdown, pdf, rows
from suffice.evidence.read.source import Content, FrontMatter, storable

__all__ = ["SUFFIXES", "Content", "FrontMatter", "check_size", "load_file", "read_bytes"]

_READERS: dict[str, Callable[[bytes], Content]] = {
    ".md": markdown.read,
    ".markdown": markdown.read,
    ".txt": markdown.read_plain,
    ".html": html.read,
    ".htm": html.read,
    ".pdf": pdf.read,
    ".docx": docx.read,
    ".csv": rows.read_csv,
    ".json": rows.read_json,
}
SUFFIXES: frozenset[str] = frozenset(_READERS)


def read_bytes(
    data: bytes,
    suffix: str,
    name: str,
    max_bytes: int | None = None,
    max_characters: int | None = None,
) -> Content:
    """Read a document from memory. Bad data always raises `Unreadable`."""
    try:
        if max_bytes is not None:
            check_size(len(data), max_bytes)
        content = _read(data, suffix.lower())
        if max_characters is not None and len(content.text) > max_characters:
            raise Unreadable(
                f"has a text of {len(content.text):,} characters, over the limit of "
                f"{max_characters:,}",
                remedy="Split the file, or raise read.max_characters in the settings.",
            )
        return content
    except Unreadable as flaw:
        raise Unreadable(f"{name} {flaw.message}.", remedy=flaw.remedy) from flaw
    except RecursionError as error:
        raise Unreadable(f"{name} is nested too deeply.", remedy="Flatten it.") from error
    except MemoryError as error:
        raise Unreadable(
            f"{name} needs too much memory to read.",
            remedy="Split the file, or raise read.memory_bytes in the settings.",
        ) from error
    except Exception as error:  # a parser failure must affect only one file, not the whole run
        reason = str(error).strip().rstrip(".") or type(error).__name__
        raise Unreadable(f"{name} could not be read: {reason}.") from error


def load_file(path: Path, max_bytes: int) -> bytes:
    """The bytes of a file of at most `max_bytes`."""
    try:
        return _load(path, max_bytes)
    except Unreadable as flaw:
        raise Unreadable(f"{path.name} {flaw.message}.", remedy=flaw.remedy) from flaw
    except FileNotFoundError as error:
        raise Unreadable(f"{path.name} no longer exists.") from error
    except PermissionError as error:
        remedy = "Give the user that runs Suffice permission to read it."
        raise Unreadable(
            f"{path.name} cannot be read: permission denied.", remedy=remedy
        ) from error
    except (OSError, ValueError) as error:
        raise Unreadable(f"{path.name} could not be read: {error}.") from error


def _read(data: bytes, suffix: str) -> Content:
    """Call the reader for the suffix and check that its result is not empty."""
    if suffix not in _READERS:
        remedy = "Supported suffixes: " + ", ".join(sorted(SUFFIXES)) + "."
        raise Unreadable(f"has an unsupported suffix ('{suffix}')", remedy=remedy)
    content = _READERS[suffix](data)
    if not content.text[content.body :].strip():
        raise Unreadable("is empty after its front matter" if content.body else "is empty")
    return replace(content, text=storable(content.text))


def _load(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file. The size is checked before a file is loaded."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise Unreadable("is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("is not a regular file")
    check_size(status.st_size, max_bytes)
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    check_size(len(data), max_bytes)  # it may have grown meanwhile
    return data


def check_size(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise Unreadable(
            f"is {_in_words(size)}, over the limit of {_in_words(max_bytes)}",
            remedy="Split the file, or raise read.max_bytes in the settings.",
        )


def _in_words(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size:,} bytes"
