"""Text that both databases can store: no NUL (PostgreSQL) and no lone surrogates (UTF-8)."""

from __future__ import annotations

import re

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Whether the text can be stored and queried unchanged."""
    return not _UNSTORABLE.search(text)


def replace_unstorable(text: str) -> str:
    """The text with each unstorable character replaced by U+FFFD. Offsets do not change."""
    return _UNSTORABLE.sub("\ufffd", text)
