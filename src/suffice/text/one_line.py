"""Untrusted text made fit to show: on one line, shortened, without control characters."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that drive a terminal or change the direction of a text, and those that cannot be
encoded. Tabs and line breaks are none of them."""


def without_controls(text: str, instead: str = "") -> str:
    """The text with another text in place of each control character."""
    return _CONTROL.sub(instead, text)


def one_line(text: str, most: int | None = None) -> str:
    """The text on one line; if it is longer than `most`, its beginning and an ellipsis."""
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else f"{line[:most]}…"


def printable_line(text: str, most: int | None = None) -> str:
    """`one_line` with spaces in place of characters that are not printable."""
    return one_line("".join(char if char.isprintable() else " " for char in text), most)
