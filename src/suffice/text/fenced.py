"""Inserts untrusted texts into a prompt as data: fenced, quoted and labelled.

Each text is placed between two lines with a mark that occurs in none of the texts. A text therefore
cannot close its own fence, open another, or pass for part of the prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from suffice.types import Kind, Passage

_LINE = 300


def fence(texts: Iterable[str]) -> str:
    """A mark that occurs in none of the texts. The same texts always give the same mark."""
    held = "\n".join(texts)
    mark = ""
    while not mark or mark in held:
        mark = hashlib.sha256(f"{mark}\n{held}".encode("utf-8", "replace")).hexdigest()[:12]
    return mark


def fenced(mark: str, name: str, text: str, about: str = "") -> str:
    """A text between its fence lines. `about` describes it on the first line."""
    head = f"{name}: {about}" if about else name
    return f"--- {mark} {head} ---\n{text}\n--- {mark} end of {name} ---"


def quoted(text: str) -> str:
    """A text for use between quotation marks: on one line, shortened, without double quotes."""
    line = " ".join(text.replace('"', "'").split())
    return line if len(line) <= _LINE else f"{line[:_LINE]}…"


def described(passage: Passage) -> str:
    """One line about the origin of a passage: title, position, version and dates."""
    parts = [f'"{quoted(passage.title or passage.document)}"']
    parts += [f'section "{quoted(passage.place)}"'] if passage.place else []
    parts += [f"version {quoted(passage.declared)}"] if passage.declared else []
    since, until = passage.effective or passage.since, passage.expires or passage.until
    parts += [f"in force from {since.isoformat()}"] if since else []
    parts += [f"until {until.isoformat()}"] if until else []
    parts += ["minutes of a discussion"] if passage.kind is Kind.DISCUSSION else []
    return ", ".join(parts)
