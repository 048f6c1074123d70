"""Markdown and plain text: the file as it is, with the front matter at its top understood."""

from __future__ import annotations

from dataclasses import replace

from suffice.evidence.read.blocks import first_heading
from suffice.evidence.read.decode import decode
from suffice.evidence.read.frontmatter import split
from suffice.evidence.read.source import Content


def read(data: bytes) -> Content:
    """Markdown; without a declared title the first `# ` heading is the title."""
    content = read_plain(data)
    title = content.front.title or first_heading(content.text, content.body)
    return replace(content, front=replace(content.front, title=title), markdown=True)


def read_plain(data: bytes) -> Content:
    """Plain text; `text` is the whole file, `body` stands after the front matter."""
    text = decode(data)
    front, body = split(text)
    return Content(text=text, front=front, body=body)
