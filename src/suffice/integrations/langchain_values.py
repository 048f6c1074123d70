"""Reads and replaces what LangChain's runnables take and return."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tracers._streaming import _StreamingCallbackHandler

from suffice.errors import EvidenceError
from suffice.evidence.inputs import Given
from suffice.integrations.guard import Checked, passage_of


def text_of(output: Any, key: str) -> str:
    """The answer in the output of a chain; empty if it has none, for example a tool call."""
    if isinstance(output, str):
        return output
    if isinstance(output, BaseMessage):
        content = output.content
        parts = [content] if isinstance(content, str) else content
        texts = (part if isinstance(part, str) else part.get("text") or "" for part in parts)
        return "".join(texts)
    if isinstance(output, Mapping) and key in output:
        return text_of(output[key], key)
    if isinstance(output, Mapping) and output.get("messages"):  # an agent or a graph
        return text_of(output["messages"][-1], key)
    raise EvidenceError(
        f"The output of the chain has no answer: it is a {type(output).__name__}.",
        remedy=f"Return a text, a message, or a dict with '{key}' (set answer= for another key).",
    )


def passages_of(documents: Any) -> list[Given]:
    """Documents of LangChain, or passages as `suffice.check` takes them."""
    single = isinstance(documents, str | Mapping | Document)
    return [
        passage(one) if isinstance(one, Document) else one
        for one in ([documents] if single else documents)
    ]


def passage(document: Document) -> dict[str, Any]:
    """A document as a passage."""
    return passage_of(document.page_content, document.metadata)


def question_in(input: Any, keys: Iterable[str]) -> str:
    """The question in the input of a chain; empty if there is none."""
    if isinstance(input, Mapping):
        input = next((input[key] for key in keys if key in input), "")
    return input if isinstance(input, str) else ""


def replaced(output: Any, found: Checked, key: str) -> Any:
    """The output with the released text in place of the answer."""
    if isinstance(output, str):
        return found.text
    if isinstance(output, BaseMessage):
        # Log probabilities and reasoning in the other fields repeat the withheld text.
        told = {"suffice": found.summary}
        changes = {"content": found.text, "additional_kwargs": {}, "response_metadata": told}
        return output.model_copy(update=changes)
    if key in output:
        return {**output, key: replaced(output[key], found, key)}
    *before, last = output["messages"]
    return {**output, "messages": [*before, replaced(last, found, key)]}


def joined(chunks: list[Any]) -> Any:
    """The output that the chunks of a stream make up."""
    try:
        return reduce(operator.add, chunks)
    except TypeError as problem:  # the updates of a graph
        raise EvidenceError(
            "The chunks of the chain cannot be joined to an answer.",
            remedy="Use invoke or ainvoke, or guard the part of the graph that writes the answer.",
        ) from problem


def unstreamed(config: RunnableConfig) -> RunnableConfig:
    """The configuration without handlers that forward tokens, which nobody has checked yet."""
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks = callbacks.copy()
        callbacks.handlers = _kept(callbacks.handlers)
        callbacks.inheritable_handlers = _kept(callbacks.inheritable_handlers)
    elif callbacks:
        callbacks = _kept(callbacks)
    return {**config, "callbacks": callbacks}


def _kept(handlers: Iterable[Any]) -> list[Any]:
    return [one for one in handlers if not isinstance(one, _StreamingCallbackHandler)]
