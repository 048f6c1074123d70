"""Find the passages in a prompt that RAG frameworks and chat UIs mark: in tags, numbered, or under
a heading.

These texts come from callers, so the running time must stay linear in their length: the search for
a closing tag stops at the next opening tag of the same kind, and whitespace is scanned once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from suffice.evidence.inputs import Given

_OPENED = re.compile(r"<(context|documents?|sources)\b[^<>]*>", re.IGNORECASE)
_SOURCE = re.compile(
    r"<(source|document|doc|passage)\b(?P<known>[^<>]*)>(?P<text>(?:(?!<\1\b).)*?)</\1>",
    re.DOTALL | re.IGNORECASE,
)
_NAME = re.compile(r"\b(?:name|title|source)\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
_ID = re.compile(r"\bid\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
# LibreChat: named files and the passages found in them, as one text or as items.
_FILE = re.compile(
    r"<file>\s*<filename>(?P<name>[^<]*)</filename>(?P<rest>(?:(?!<file>).)*?)</file>", re.DOTALL
)
_ITEM = re.compile(r"<contextItem>((?:(?!<contextItem>).)*?)</contextItem>", re.DOTALL)
_NUMBERED = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t:]*", re.MULTILINE)
_TITLE = re.compile(
    r"^#{1,6}\s*(?:context|documents|sources|evidence)[ \t\r]*+:?[ \t\r]*+$", re.I | re.M
)


def context_in(text: str) -> tuple[int, int, int, int] | None:
    """The span of the context in a prompt, with its tags and without them."""
    ends: dict[str, int] = {}
    for opened in _OPENED.finditer(text):
        name = opened[1].lower()
        if name not in ends:
            closings = re.finditer(rf"</{name}>", text, re.IGNORECASE)
            ends[name] = max((closing.start() for closing in closings), default=-1)
        if (end := ends[name]) >= opened.end():
            return opened.start(), end + len(name) + 3, opened.end(), end
    return None


def marked(text: str) -> list[Given]:
    """The marked passages in a text, in order; empty if nothing is marked."""
    context = context_in(text)
    # A prompt may mention tags before it uses them.
    body = text[context[2] : context[3]] if context else text
    found = list(_of_files(text)) or _tagged(list(_SOURCE.finditer(body)))
    if found:
        return found
    marks = list(_NUMBERED.finditer(body))
    if marks and [int(mark[1]) for mark in marks] == list(range(1, len(marks) + 1)):
        ends = [*(mark.start() for mark in marks[1:]), len(body)]
        return [body[m.end() : end].strip() for m, end in zip(marks, ends, strict=True)]
    if context and body.strip():
        return [body.strip()]
    title = _TITLE.search(text)
    return [text[title.end() :].strip()] if title else []


def _of_files(text: str) -> Iterator[Given]:
    for file in _FILE.finditer(text):
        _, _, opened = file["rest"].partition("<context>")
        found, closed, _ = opened.rpartition("</context>")
        if not closed:  # a file name without content
            continue
        for passage in [item[1] for item in _ITEM.finditer(found)] or [found]:
            plain = passage.strip().removeprefix("<![CDATA[").removesuffix("]]>")
            yield {"text": plain.strip(), "title": file["name"].strip()}


def _tagged(sources: Sequence[re.Match[str]]) -> list[Given]:
    """Join parts that share an id into one passage, so that passage numbers match those of the chat
    UI."""
    titles: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    for n, source in enumerate(sources):
        id, name = _ID.search(source["known"]), _NAME.search(source["known"])
        key = id[1] if id else f"#{n}"
        titles.setdefault(key, name[1] if name else "")
        texts.setdefault(key, []).append(source["text"].strip())
    return [{"text": "\n\n".join(texts[key]), "title": titles[key]} for key in texts]
