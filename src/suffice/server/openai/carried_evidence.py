"""Find the question of a conversation and the evidence in its messages.

The question is the last user turn. A follow-up that depends on earlier turns ("and for part-time
staff?") is joined with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from suffice.evidence.inputs import Given
from suffice.server.openai.prompt_shapes import Shape, parts_of, passages_in
from suffice.server.openai.tagged_context import context_in, elements, marked
from suffice.text.asked import LONGEST_QUESTION
from suffice.text.words import content_words

Message = Mapping[str, Any]

_TURNS = 3
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_LONGEST_SENTENCE = 1_000
# A complete question can be short. "How long?" and "Part-time staff?" are incomplete.
_ASKS = re.compile(
    r"(?:what|when|where|who|whom|whose|which|how|is|are|was|were|do|does|did|can|could|may|might|"
    r"must|shall|should|will|would|has|have|had|tell|list|name|show|explain|describe)\b",
    re.IGNORECASE,
)
_ALONE = 4
"""Number of content words with which a phrase without a question word is complete."""
_MEASURES = frozenset("long many much often old far big high soon late early fast".split())
_LEANS = re.compile(
    r"(?:and|but|or|so|also|then|what about|how about|why|same|ok(?:ay)?|in that case|otherwise)\b",
    re.IGNORECASE,
)
_STANDS_FOR = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|he|she|him|her|his|there|one|ones)\b",
    re.IGNORECASE,
)
# Prompts of RAG frameworks end with "Question: …", optionally followed by "Answer:".
_LAST_ASKED = re.compile(
    r"^[ \t]*(?:user )?(?:query|question)[ \t]*:[ \t]*(?P<asked>\S[^\n]*+)"
    r"(?:\n+(?:[\w ]+ )?answer[ \t]*:)?\Z",
    re.IGNORECASE | re.MULTILINE,
)


def question_of(messages: Sequence[Message], shape: Shape | None = None) -> str:
    """The question of the last user turn, joined with the earlier turns it depends on. `shape` is
    the route's prompt template. A turn that is too long is shortened to its question."""
    users = (one for one in messages if one.get("role") == "user")
    turns = [text for one in users if (text := _asked(one, shape))]
    if not turns:
        return ""
    question = turns[-1]
    for earlier in reversed(turns[-_TURNS:-1]):
        if not leans(question):
            break
        question = f"{earlier} {question}"
    return question[-LONGEST_QUESTION:]


def leans(question: str) -> bool:
    """Whether a question can only be understood with earlier turns."""
    if _LEANS.match(question) or _STANDS_FOR.search(question):
        return True
    words = [word for word in content_words(question) if word not in _MEASURES]
    return len(words) < (1 if _ASKS.match(question) else _ALONE)


def evidence_of(
    messages: Sequence[Message],
    *,
    all_of_it: bool = False,
    users: bool | None = None,
    shape: Shape | None = None,
) -> list[Given]:
    """The passages in system and tool messages, in order. Passages in a system message must be
    marked by tags or numbers, or be part of a known prompt template. With `all_of_it`, system
    messages are passages themselves if no passage is marked. `users` includes user turns (default:
    `all_of_it`)."""
    users = all_of_it if users is None else users
    found: list[Given] = []
    whole: list[Given] = []
    for message in messages:
        role, text = message.get("role"), text_of(message.get("content"))
        if not text.strip():
            continue
        if role in ("tool", "function"):
            found += marked(text) or [{"text": text, "title": message.get("name") or ""}]
        elif role in ("system", "developer") or (users and role == "user"):
            passages = _passages(text, shape)
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


def _passages(text: str, shape: Shape | None) -> list[Given]:
    known = parts_of(text, shape)
    if known is None or not known.context:
        return marked(text)
    return marked(known.context) or [*passages_in(known.context)]


def _asked(message: Message, shape: Shape | None) -> str:
    """The question in a user turn, without the context that frameworks and chat UIs add to it."""
    text = text_of(message.get("content"))
    if (known := parts_of(text, shape)) and known.question:
        return _shortened(known.question)
    return _shortened(_tagged(text))


def _shortened(question: str) -> str:
    """The question, within the length limit. Of a longer text, keep the last sentence that ends
    with a question mark, else the last sentence."""
    if len(question) <= LONGEST_QUESTION:
        return question
    found = [part for one in _SENTENCE.split(question) if (part := one.strip())]
    asking = [one for one in found if one.endswith("?")]
    return (asking or found)[-1][-_LONGEST_SENTENCE:].strip()


def _tagged(text: str) -> str:
    queries = elements(text, "user_query|query|question")
    if query := next((one for one in queries if not one.attributes), None):
        return query.text.strip()
    if context := context_in(text):
        after, before = text[context[1] :].strip(), text[: context[0]].strip()
        last = _LAST_ASKED.search(after)
        return last["asked"].strip() if last else after or before
    return text.strip()
