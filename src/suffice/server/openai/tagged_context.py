"""Find the passages in a prompt that RAG frameworks and chat UIs mark: in tags, numbered, or under
a heading.

These texts come from callers, so the running time stays linear in their length.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from suffice.evidence.inputs import Given

_OPENED = re.compile(r"<(context|documents?|sources)\b[^<>]*>", re.IGNORECASE)
_SOURCES = "source|document|doc|passage"
_NAME = re.compile(r"\b(?:name|title|source)\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
_ID = re.compile(r"\bid\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
# LibreChat: named files and the passages found in them, as one text or as items.
_FILE_NAME = re.compile(r"\s*<filename>([^<]*)</filename>")
_NUMBERED = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t:]*", re.MULTILINE)
_TITLE = re.compile(
    r"^#{1,6}\s*(?:context|documents|sources|evidence)[ \t\r]*+:?[ \t\r]*+$", re.I | re.M
)


@dataclass(frozen=True, slots=True)
class Element:
    """A tag with its attributes, and the text up to its closing tag."""

    attributes: str
    text: str


def elements(text: str, names: str) -> Iterator[Element]:
    """The elements with one of these names (`a|b`), in order; none lies in another. A tag that is
    opened again before it is closed is no element."""
    tags = list(re.finditer(rf"<(/?)({names})\b(?:([^<>]*)>)?", text, re.IGNORECASE))
    following: dict[str, re.Match[str]] = {}
    closing: list[re.Match[str] | None] = []
    for tag in reversed(tags):
        name = tag[2].lower()
        other = following.get(name)
        closes = other is not None and bool(other[1])
        closing.append(other if closes and not tag[1] and tag[3] is not None else None)
        if not tag[1] or tag[3] == "":
            following[name] = tag
    done = 0
    for tag, end in zip(tags, reversed(closing), strict=True):
        if end and tag.start() >= done:
            yield Element(tag[3], text[tag.end() : end.start()])
            done = end.end()


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
    found = list(_of_files(text)) or _tagged(list(elements(body, _SOURCES)))
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
    for file in elements(text, "file"):
        name = _FILE_NAME.match(file.text)
        _, _, opened = file.text[name.end() if name else 0 :].partition("<context>")
        found, closed, _ = opened.rpartition("</context>")
        if not name or not closed:  # a file name without content
            continue
        for passage in [item.text for item in elements(found, "contextItem")] or [found]:
            plain = passage.strip().removeprefix("<![CDATA[").removesuffix("]]>")
            yield {"text": plain.strip(), "title": name[1].strip()}


def _tagged(sources: Sequence[Element]) -> list[Given]:
    """Join parts that share an id into one passage, so that passage numbers match those of the chat
    UI."""
    titles: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    for n, source in enumerate(sources):
        id, name = _ID.search(source.attributes), _NAME.search(source.attributes)
        key = id[1] if id else f"#{n}"
        titles.setdefault(key, name[1] if name else "")
        texts.setdefault(key, []).append(source.text.strip())
    return [{"text": "\n\n".join(texts[key]), "title": titles[key]} for key in texts]
