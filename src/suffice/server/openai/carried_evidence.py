"""The question of a conversation, and the evidence it carries.

The question is the last user turn. A follow-up that depends on earlier turns ("and for part-time
staff?") is joined with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from suffice.evidence.inputs import Given
from suffice.server.openai.tagged_context import context_in, marked
from suffice.text.asked import LONGEST_QUESTION
from suffice.text.words import content_words

Message = Mapping[str, Any]

_TURNS = 3
# A complete question stands alone, however short; "How long?" and "Part-time staff?" do not.
_ASKS = re.compile(
    r"(?:what|when|where|who|whom|whose|which|how|is|are|was|were|do|does|did|can|could|may|might|"
    r"must|shall|should|will|would|has|have|had|tell|list|name|show|explain|describe)\b",
    re.IGNORECASE,
)
_ALONE = 4
"""Content words that a phrase without a question word needs to stand alone."""
_MEASURES = frozenset("long many much often old far big high soon late early fast".split())
_LEANS = re.compile(
    r"(?:and|but|or|so|also|then|what about|how about|why|same|ok(?:ay)?|in that case|otherwise)\b",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|his|there|one|ones)\b",
    re.IGNORECASE,
)
_QUERY = re.compile(
    r"<(user_query|query|question)>((?:(?!<\1>).)*?)</\1>", re.DOTALL | re.IGNORECASE
)
# Prompts of RAG frameworks end with "Question: …", optionally followed by "Answer:".
_LAST_ASKED = re.compile(
    r"^[ \t]*(?:user )?(?:query|question)[ \t]*:[ \t]*(?P<asked>\S[^\n]*+)"
    r"(?:\n+(?:[\w ]+ )?answer[ \t]*:)?\Z",
    re.IGNORECASE | re.MULTILINE,
)


def question_of(messages: Sequence[Message]) -> str:
    """The question of the last user turn, with the earlier turns it depends on."""
    turns = [text for one in messages if one.get("role") == "user" and (text := _asked(one))]
    if not turns:
        return ""
    question = turns[-1]
    for earlier in reversed(turns[-_TURNS:-1]):
        if not leans(question):
            break
        question = f"{earlier} {question}"
    return question[-LONGEST_QUESTION:] if len(turns[-1]) <= LONGEST_QUESTION else question


def leans(question: str) -> bool:
    """Whether a question depends on earlier turns to be understood."""
    if _LEANS.match(question) or _STANDS_FOR.search(question):
        return True
    words = [word for word in content_words(question) if word not in _MEASURES]
    return len(words) < (1 if _ASKS.match(question) else _ALONE)


def evidence_of(messages: Sequence[Message], *, all_of_it: bool = False) -> list[Given]:
    """The passages in system and tool messages, in order. In a system message, passages must be
    marked by tags or numbers. With `all_of_it`, marked passages in user turns count too, and a
    system message without marks is itself a passage."""
    found: list[Given] = []
    whole: list[Given] = []
    for message in messages:
        role, text = message.get("role"), text_of(message.get("content"))
        if not text.strip():
            continue
        if role in ("tool", "function"):
            found += marked(text) or [{"text": text, "title": message.get("name") or ""}]
        elif role in ("system", "developer") or (all_of_it and role == "user"):
            passages = marked(text)
            found += passages
            if not passages and role != "user":
                whole.append(text)
    return found if found or not all_of_it else whole


def text_of(content: Any) -> str:
    """The text of a message's content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    kinds = ("text", "input_text", "output_text")
    parts = (part for part in content if isinstance(part, dict) and part.get("type") in kinds)
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _asked(message: Message) -> str:
    """The question in a user turn, without the context that some chat UIs add to it."""
    text = text_of(message.get("content"))
    if query := _QUERY.search(text):
        return query[2].strip()
    if context := context_in(text):
        after, before = text[context[1] :].strip(), text[: context[0]].strip()
        last = _LAST_ASKED.search(after)
        return last["asked"].strip() if last else after or before
    return text.strip()
