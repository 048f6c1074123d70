"""Embeds texts as data in a prompt: fenced, quoted and described, so that none can pose as the
prompt.

Each text stands between lines with a mark that occurs in none of the texts, so that none can end
its fence or begin another.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from suffice.types import Kind, Passage

_LINE = 300


def fence(texts: Iterable[str]) -> str:
    """A mark that occurs in none of the texts; the same texts give the same mark."""
    held = "\n".join(texts)
    mark = ""
    while not mark or mark in held:
        mark = hashlib.sha256(f"{mark}\n{held}".encode("utf-8", "replace")).hexdigest()[:12]
    return mark


def fenced(mark: str, name: str, text: str, about: str = "") -> str:
    """A text between its fences; `about` describes it on the first line."""
    head = f"{name}: {about}" if about else name
    return f"--- {mark} {head} ---\n{text}\n--- {mark} end of {name} ---"


def quoted(text: str) -> str:
    """A text for use between quotation marks, on one line: it cannot end the quotation."""
    line = " ".join(text.replace('"', "'").split())
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def described(passage: Passage) -> str:
    """The origin of a passage: title, position, version and dates, on one line."""
    parts = [f'"{quoted(passage.title or passage.document)}"']
    parts += [f'section "{quoted(passage.place)}"'] if passage.place else []
    parts += [f"version {quoted(passage.declared)}"] if passage.declared else []
    since, until = passage.effective or passage.since, passage.expires or passage.until
    parts += [f"in force from {since.isoformat()}"] if since else []
    parts += [f"until {until.isoformat()}"] if until else []
    parts += ["minutes of a discussion"] if passage.kind is Kind.DISCUSSION else []
    return ", ".join(parts)
