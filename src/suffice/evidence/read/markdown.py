"""Reads Markdown and plain text. The text stays unchanged; only front matter is parsed."""

from __future__ import annotations

import re
from dataclasses import replace

from suffice.evidence.read.blocks import first_heading
from suffice.evidence.read.decode import decode
from suffice.evidence.read.frontmatter import split
from suffice.evidence.read.source import Content

# A short first line followed by a blank line, and not a sentence.
_TITLE_LINE = re.compile(r"\s*(\S[^\n]{0,78}[^\s.!?:;,])[ \t]*\n[ \t]*\n")


def read(data: bytes) -> Content:
    """Markdown. The first `# ` heading is the title unless a title is declared."""
    text = decode(data)
    front, body = split(text)
    title = front.title or first_heading(text, body)
    return Content(text=text, front=replace(front, title=title), body=body, markdown=True)


def read_plain(data: bytes) -> Content:
    """Plain text. `text` is the whole file; `body` starts after the front matter and title line."""
    text = decode(data)
    front, body = split(text)
    line = _TITLE_LINE.match(text, body)
    if line and not front.title and text[line.end() :].strip():
        return Content(text=text, front=replace(front, title=line[1]), body=line.end())
    return Content(text=text, front=front, body=body)
