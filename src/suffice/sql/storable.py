"""What text both databases can hold: no NUL (PostgreSQL), no half of a character (UTF-8)."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Whether the text can be kept, or asked for, as it is."""
    return not _UNSTORABLE.search(text)


def kept(text: str) -> str:
    """The text with a mark for each character that cannot be kept. Offsets stay as they are."""
    return _UNSTORABLE.sub("\ufffd", text)
