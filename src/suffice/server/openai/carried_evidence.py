"""Find the question of a conversation and the evidence in its messages.

The question is the last user turn. A follow-up that depends on earlier turns ("and for part-time
staff?") is joined with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from suffice.errors import SettingsError
from suffice.evidence.inputs import Given
from suffice.text.question import LONGEST_QUESTION
from suffice.text.words import content_words

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
    passages = list(_of_files(text)) or _tagged(list(elements(body, _SOURCES)))
    if passages:
        return passages
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
        context, closed, _ = opened.rpartition("</context>")
        if not name or not closed:  # a file name without content
            continue
        for passage in [item.text for item in elements(context, "contextItem")] or [context]:
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


CONTEXT, QUESTION, OTHER = "context", "question", "other"
_PART = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Shape:
    """A template as literals and the parts between them: `literals[i]` precedes `parts[i]`."""

    literals: tuple[re.Pattern[str] | None, ...]
    parts: tuple[str, ...]

    def read(self, text: str) -> dict[str, str] | None:
        """The parts of a prompt; `None` if it does not have this shape. Text before the first
        literal is ignored: it is the application's instruction."""
        offset, parts = 0, {}
        if (first := self.literals[0]) is not None:
            opened = first.search(text)
            if opened is None:
                return None
            offset = opened.end()
        for name, literal in zip(self.parts, self.literals[1:], strict=True):
            if literal is None:
                end, after = len(text), len(text)
            else:
                # The context may contain this literal; the last occurrence belongs to the prompt.
                all_of = literal.finditer(text, offset)
                ends = [*all_of][-1:] if name == CONTEXT else [*islice(all_of, 1)]
                if not ends:
                    return None
                end, after = ends[0].span()
            parts[name] = text[offset:end].strip()
            offset = after
        return None if text[offset:].strip() else parts


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a prompt. `question` is empty if the prompt has none."""

    context: str = ""
    question: str = ""


def read_shape(template: str) -> Shape:
    """The shape that a template describes."""
    pieces = _PART.split(template)
    parts = tuple(pieces[1::2])
    if not parts or set(parts) - {CONTEXT, QUESTION, OTHER} or len(set(parts)) < len(parts):
        raise SettingsError(
            f"Invalid prompt template: {template[:80]!r}.",
            remedy="Write your prompt with {question} and {context}, each once; {other} stands for "
            "a part to ignore. Example: 'Context: {context} Question: {question} Answer:'",
        )
    literals = tuple(_literal(piece) for piece in pieces[0::2])
    if any(literal is None for literal in literals[1:-1]) or not any(literals):
        raise SettingsError(
            f"The parts of the prompt template {template[:80]!r} are not separated by text.",
            remedy="Put the text of your prompt between {context} and {question}.",
        )
    return Shape(literals, parts)


def _literal(text: str) -> re.Pattern[str] | None:
    words = text.split()
    return re.compile(r"\s+".join(map(re.escape, words))) if words else None


def parts_of(text: str, route_shape: Shape | None = None) -> Parts | None:
    """The context and the question of a prompt, or `None` if its shape is unknown. `own`, the
    route's shape, is tried first."""
    for shape in (route_shape, *SHAPES) if route_shape else SHAPES:
        if parts := shape.read(text):
            return Parts(parts.get(CONTEXT, ""), parts.get(QUESTION, ""))
    return None


def _shapes(templates: Iterable[str]) -> tuple[Shape, ...]:
    return tuple(map(read_shape, templates))


_RULE, _SHORT, _CHAT = "-" * 21, "-" * 12, "-" * 20
SHAPES = _shapes(
    (
        # LlamaIndex: question answering, tree summaries, refinement, chat engines
        f"Context information is below. {_RULE} {{context}} {_RULE} Given the context information "
        "and not prior knowledge, answer the query. Query: {question} Answer:",
        f"Context information from multiple sources is below. {_RULE} {{context}} {_RULE} Given "
        "the information from multiple sources and not prior knowledge, answer the query. Query: "
        "{question} Answer:",
        "The original query is as follows: {question} We have provided an existing answer: {other} "
        "We have the opportunity to refine the existing answer (only if needed) with some more "
        f"context below. {_SHORT} {{context}} {_SHORT} Given the new context, refine the original "
        "answer to better answer the query. If the context isn't useful, return the original "
        "answer. Refined Answer:",
        "just repeat the original answer. New Context: {context} Query: {question} Original "
        "Answer: {other} New Answer:",
        f"Use the context information below to assist the user. {_CHAT} {{context}} {_CHAT}",
        "Here are the relevant documents for the context: {context} Instruction: Based on the "
        "above documents, provide a detailed answer for the user question below. {other}",
        # LangChain: rag-prompt, and the stuff chains
        "Use the following pieces of retrieved context to answer the question. If you don't know "
        "the answer, just say that you don't know. Use three sentences maximum and keep the answer "
        "concise. Question: {question} Context: {context} Answer:",
        "Use the following pieces of context to answer the question at the end. If you don't know "
        "the answer, just say that you don't know, don't try to make up an answer. {context} "
        "Question: {question} Helpful Answer:",
        "Use the following pieces of context to answer the user's question. If you don't know the "
        "answer, just say that you don't know, don't try to make up an answer. ---------------- "
        "{context}",
        # Haystack
        "Given these documents, answer the question. Documents: {context} Question: {question} "
        "Answer:",
        "Given the following information, answer the question. Context: {context} Question: "
        "{question} Answer:",
        # Dify
        "inside <context></context> XML tags. <context> {context} </context> {other}",
        # AnythingLLM
        "Context: [CONTEXT 0]: {context}",
        # Flowise
        f"Never break character. {_SHORT} {{context}} {_SHORT} REMEMBER: {{other}}",
    )
)
_NEXT_ITEM = re.compile(r"\[END CONTEXT \d+\]\s*(?:\[CONTEXT \d+\]:)?")


def passages_in(context: str) -> list[str]:
    """The passages of a context. Only AnythingLLM marks each passage; otherwise there is one."""
    return [part.strip() for part in _NEXT_ITEM.split(context) if part.strip()]


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
    users = (message for message in messages if message.get("role") == "user")
    turns = [text for user in users if (text := _asked(user, shape))]
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
    given: list[Given] = []
    whole: list[Given] = []
    for message in messages:
        role, text = message.get("role"), text_of(message.get("content"))
        if not text.strip():
            continue
        if role in ("tool", "function"):
            given += marked(text) or [{"text": text, "title": message.get("name") or ""}]
        elif role in ("system", "developer") or (users and role == "user"):
            passages = _passages(text, shape)
            given += passages
            if not passages and role != "user":
                whole.append(text)
    return given if given or not all_of_it else whole


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
    parts = parts_of(text, shape)
    if parts is None or not parts.context:
        return marked(text)
    return marked(parts.context) or [*passages_in(parts.context)]


def _asked(message: Message, shape: Shape | None) -> str:
    """The question in a user turn, without the context that frameworks and chat UIs add to it."""
    text = text_of(message.get("content"))
    if (parts := parts_of(text, shape)) and parts.question:
        return _shortened(parts.question)
    return _shortened(_tagged_question(text))


def _shortened(question: str) -> str:
    """The question, within the length limit. Of a longer text, keep the last sentence that ends
    with a question mark, else the last sentence."""
    if len(question) <= LONGEST_QUESTION:
        return question
    sentences = [part for sentence in _SENTENCE.split(question) if (part := sentence.strip())]
    asking = [sentence for sentence in sentences if sentence.endswith("?")]
    return (asking or sentences)[-1][-_LONGEST_SENTENCE:].strip()


def _tagged_question(text: str) -> str:
    queries = elements(text, "user_query|query|question")
    if query := next((query for query in queries if not query.attributes), None):
        return query.text.strip()
    if context := context_in(text):
        after, before = text[context[1] :].strip(), text[: context[0]].strip()
        last = _LAST_ASKED.search(after)
        return last["asked"].strip() if last else after or before
    return text.strip()
