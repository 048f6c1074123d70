"""Prompt templates of RAG frameworks and chat UIs, to find the context and the question.

A shape is a prompt template with `{context}`, `{question}` and `{other}` for its parts. Whitespace
in it matches any whitespace. To support another prompt, add a line to `SHAPES`; a route can set its
own template in `prompt`. `tests/frameworks` tests the shapes against the packages.

These texts come from callers, so the running time stays linear in their length: each literal part
of a template is searched for once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from suffice.errors import SettingsError

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
        place, found = 0, {}
        if (first := self.literals[0]) is not None:
            opened = first.search(text)
            if opened is None:
                return None
            place = opened.end()
        for name, literal in zip(self.parts, self.literals[1:], strict=True):
            if literal is None:
                end, place_after = len(text), len(text)
            else:
                # The context may contain this literal; the last occurrence belongs to the prompt.
                all_of = literal.finditer(text, place)
                ends = [*all_of][-1:] if name == CONTEXT else [*islice(all_of, 1)]
                if not ends:
                    return None
                end, place_after = ends[0].span()
            found[name] = text[place:end].strip()
            place = place_after
        return None if text[place:].strip() else found


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
    if any(one is None for one in literals[1:-1]) or not any(literals):
        raise SettingsError(
            f"The parts of the prompt template {template[:80]!r} are not separated by text.",
            remedy="Put the text of your prompt between {context} and {question}.",
        )
    return Shape(literals, parts)


def _literal(text: str) -> re.Pattern[str] | None:
    words = text.split()
    return re.compile(r"\s+".join(map(re.escape, words))) if words else None


def parts_of(text: str, own: Shape | None = None) -> Parts | None:
    """The context and the question of a prompt, or `None` if its shape is unknown. `own`, the
    route's shape, is tried first."""
    for shape in (own, *SHAPES) if own else SHAPES:
        if found := shape.read(text):
            return Parts(found.get(CONTEXT, ""), found.get(QUESTION, ""))
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
