"""Passages that a text marks as such, as prompts of RAG frameworks and chat UIs do: in tags,
numbered, or under a title.

Whoever calls the gateway writes these texts, so nothing here may take longer than their length
warrants: an opening tag is never searched for its end beyond the next one of its kind, and space is
read once.
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
# LibreChat: files with a name and what was found in them, whole or item by item.
_FILE = re.compile(
    r"<file>\s*<filename>(?P<name>[^<]*)</filename>(?P<rest>(?:(?!<file>).)*?)</file>", re.DOTALL
)
_ITEM = re.compile(r"<contextItem>((?:(?!<contextItem>).)*?)</contextItem>", re.DOTALL)
_NUMBERED = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t:]*", re.MULTILINE)
_TITLE = re.compile(
    r"^#{1,6}\s*(?:context|documents|sources|evidence)[ \t\r]*+:?[ \t\r]*+$", re.I | re.M
)


def context_in(text: str) -> tuple[int, int, int, int] | None:
    """Where the context of a prompt begins and ends, with its tags and without."""
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
    """The passages in a text, in their order; none where it marks nothing."""
    context = context_in(text)
    # A prompt may speak of tags before it uses them.
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
        if not closed:  # only named
            continue
        for said in [item[1] for item in _ITEM.finditer(found)] or [found]:
            plain = said.strip().removeprefix("<![CDATA[").removesuffix("]]>")
            yield {"text": plain.strip(), "title": file["name"].strip()}


def _tagged(sources: Sequence[re.Match[str]]) -> list[Given]:
    """Parts of one document that share an id are one passage, so that the numbers of the passages
    are those that the chat UI knows them by."""
    titles: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    for n, source in enumerate(sources):
        id, name = _ID.search(source["known"]), _NAME.search(source["known"])
        key = id[1] if id else f"#{n}"
        titles.setdefault(key, name[1] if name else "")
        texts.setdefault(key, []).append(source["text"].strip())
    return [{"text": "\n\n".join(texts[key]), "title": titles[key]} for key in texts]
