"""Read the documents and search results in a message as evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from suffice.evidence.inputs import Given
from suffice.server.errors import bad

_TEXT_ONLY = "Only documents with text are supported, not files."


def given_of(block: Mapping[str, Any], where: str) -> Given:
    """The passage in a `document` or `search_result` block."""
    source, title = block.get("source"), block.get("title")
    if block.get("type") == "search_result":
        content, name = block.get("content"), title or source
    elif isinstance(source, dict) and source.get("type") == "text":
        content, name = source.get("data"), title
    elif isinstance(source, dict) and source.get("type") == "content":
        content, name = source.get("content"), title
    else:
        raise bad(_TEXT_ONLY, where)
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str):
        raise bad(_TEXT_ONLY, where)
    return {"text": content, "title": name if isinstance(name, str) else ""}


def as_text(given: Given) -> str:
    """The passage as text in `<document>` tags, so that it is not taken for the question."""
    if isinstance(given, str) or not isinstance(given, dict):
        return f"<document>\n{given}\n</document>"
    return f"<document title={quoteattr(str(given['title']))}>\n{given['text']}\n</document>"
