"""What a conversation asks, and what evidence it carries.

The question is the last user turn; one that leans on the turns before it ("and for part-time
staff?") is read together with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suffice.evidence.given import Given
from suffice.text.asked import LONGEST_QUESTION
from suffice.text.words import content_words

Message = Mapping[str, Any]

_TURNS = 3
_ALONE = 3
"""A question of fewer words that tell something hardly stands alone."""
_LEANS = re.compile(
    r"(?:and|but|or|so|also|then|what about|how about|why|same|ok(?:ay)?|in that case|otherwise)\b",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|his|there|one|ones)\b",
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"<(context|documents?|sources)\b[^>]*>(.*)</\1>", re.DOTALL | re.IGNORECASE)
_SOURCE = re.compile(
    r"<(source|document|doc|passage)\b(?P<known>[^>]*)>(?P<text>(?:(?!<\1\b).)*?)</\1>",
    re.DOTALL | re.IGNORECASE,
)
_NAME = re.compile(r"\b(?:name|title|source)\s*=\s*[\"']([^\"']+)[\"']", re.IGNORECASE)
_QUERY = re.compile(r"<(user_query|query|question)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_NUMBERED = re.compile(r"^[ \t]*\[(\d{1,4})\][ \t:]*", re.MULTILINE)
_TITLE = re.compile(r"^#{1,6}\s*(?:context|documents|sources|evidence)\s*:?\s*$", re.I | re.M)


def question_of(messages: Sequence[Message]) -> str:
    """What the last user turn asks, with as many turns before it as it leans on."""
    turns = [said for one in messages if one.get("role") == "user" and (said := _asked(one))]
    if not turns:
        return ""
    question = turns[-1]
    for earlier in reversed(turns[-_TURNS:-1]):
        if not leans(question):
            break
        question = f"{earlier} {question}"
    return question[-LONGEST_QUESTION:] if len(turns[-1]) <= LONGEST_QUESTION else question


def leans(question: str) -> bool:
    """Whether a question cannot be understood without what was asked before."""
    short = len(content_words(question)) < _ALONE
    return short or bool(_LEANS.match(question) or _STANDS_FOR.search(question))


def evidence_of(messages: Sequence[Message], *, all_of_it: bool = False) -> list[Given]:
    """The passages that system and tool messages carry, in their order. In a system message they
    are marked as such, by tags or numbers; with `all_of_it` also what users' turns mark, and a
    system message that marks nothing is itself one."""
    found: list[Given] = []
    whole: list[Given] = []
    for message in messages:
        role, text = message.get("role"), text_of(message.get("content"))
        if not text.strip():
            continue
        if role in ("tool", "function"):
            found += list(_marked(text)) or [{"text": text, "title": message.get("name") or ""}]
        elif role in ("system", "developer") or (all_of_it and role == "user"):
            marked = list(_marked(text))
            found += marked
            if not marked and role != "user":
                whole.append(text)
    return found if found or not all_of_it else whole


def text_of(content: Any) -> str:
    """The text of a message's content: plain, or its text parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    kinds = ("text", "input_text", "output_text")
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in kinds)
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _asked(message: Message) -> str:
    """What a user's turn asks, without the context that some chat UIs put around it."""
    text = text_of(message.get("content"))
    if query := _QUERY.search(text):
        return query[2].strip()
    if context := _CONTEXT.search(text):
        after, before = text[context.end() :].strip(), text[: context.start()].strip()
        return after or before
    return text.strip()


def _marked(text: str) -> Iterator[Given]:
    """Passages that a text marks as such: in tags, or numbered from 1 without a gap."""
    context = _CONTEXT.search(text)
    body = context[2] if context else text  # a prompt may speak of tags before it uses them
    sources = list(_SOURCE.finditer(body))
    if sources:
        for source in sources:
            name = _NAME.search(source["known"])
            yield {"text": source["text"].strip(), "title": name[1] if name else ""}
        return
    marks = list(_NUMBERED.finditer(body))
    if marks and [int(mark[1]) for mark in marks] == list(range(1, len(marks) + 1)):
        ends = [*(mark.start() for mark in marks[1:]), len(body)]
        yield from (body[m.end() : end].strip() for m, end in zip(marks, ends, strict=True))
    elif context and body.strip():
        yield body.strip()
    elif title := _TITLE.search(text):
        yield text[title.end() :].strip()
