"""Decodes UTF-8, or UTF-16 with a byte order mark. Nothing is guessed or replaced."""

from __future__ import annotations

import codecs
import re

from suffice.errors import Unreadable
from suffice.sql.storable import replace_unstorable

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
