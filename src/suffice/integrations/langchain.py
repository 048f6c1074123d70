"""LangChain: a retriever that gates, a guard around any chain, and a callback handler.

>>> retriever = SufficeRetriever(retriever=store.as_retriever())
>>> chain = SufficeGuard(prompt | model | StrOutputParser())
>>> chain.invoke({"question": "How long is leave?", "context": documents})

`SufficeGuard` reads a stream to its end, checks the answer and then releases it; events and
callbacks for streaming do not see the chain inside. `SufficeCallback` checks after the last token
and raises.
"""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any, Literal
from uuid import UUID

from suffice.errors import EvidenceError, ExtraMissing
from suffice.evidence.inputs import Given
from suffice.integrations.guard import (
    Checked,
    EvidenceGate,
    Guard,
    OnBlock,
    OnInsufficient,
    one_of,
    passage_of,
)
from suffice.settings import Settings
from suffice.types import Verdict

try:
    from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
    from langchain_core.documents import Document
    from langchain_core.messages import BaseMessage
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import Runnable, RunnableConfig, run_in_executor
    from langchain_core.tracers._streaming import _StreamingCallbackHandler
    from pydantic import PrivateAttr
except ImportError as problem:
    raise ExtraMissing("The LangChain integration", "langchain") from problem

Evidence = str | Callable[[Any, Any], Iterable[Any]]
_QUESTIONS = ("question", "input", "query")


class SufficeRetriever(BaseRetriever):
    """Wraps a retriever: documents are returned only if they are enough to answer the question.

    Otherwise it returns no documents, or raises `EvidenceInsufficient` (`on_insufficient="raise"`).
    Outdated documents are left out.
    """

    retriever: BaseRetriever
    on_insufficient: OnInsufficient = "empty"
    _gate: EvidenceGate = PrivateAttr()

    def __init__(self, gate: Any = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._gate = EvidenceGate(gate, on_insufficient=self.on_insufficient)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = self.retriever.invoke(query, {"callbacks": run_manager.get_child()})
        return self._select(query, found)

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = await self.retriever.ainvoke(query, {"callbacks": run_manager.get_child()})
        kept: list[Document] = await run_in_executor(None, self._select, query, found)
        return kept

    def _select(self, query: str, found: list[Document]) -> list[Document]:
        return self._gate.select(query, found, passage)[0]


class SufficeGuard(Runnable[Any, Any]):
    """Runs a chain and checks its answer: a text, a message, or a dict with an answer.

    `evidence` names the key of the documents in the output or the input of the chain, or is a
    function of both. `answer` and `question` name the keys of a dict.
    """

    def __init__(
        self,
        chain: Runnable[Any, Any],
        *,
        evidence: Evidence = "context",
        answer: str = "answer",
        question: str = "",
        settings: Settings | None = None,
        uncited: bool = True,
        on_block: OnBlock = "replace",
        on_verdict: Callable[[Verdict], object] | None = None,
    ) -> None:
        self._chain, self._evidence, self._answer = chain, evidence, answer
        self._questions = (question,) if question else _QUESTIONS
        self._guard = Guard(settings, uncited=uncited, on_block=on_block, on_verdict=on_verdict)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return self._call_with_config(self._invoke, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await self._acall_with_config(self._ainvoke, input, config, **kwargs)

    def stream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Iterator[Any]:
        yield from self._transform_stream_with_config(iter([input]), self._stream, config, **kwargs)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        async def once() -> AsyncIterator[Any]:
            yield input

        async for chunk in self._atransform_stream_with_config(
            once(), self._astream, config, **kwargs
        ):
            yield chunk

    def _invoke(self, input: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        output = self._chain.invoke(input, unstreamed(config), **kwargs)
        return self._released(input, [output])[-1]

    async def _ainvoke(self, input: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        output = await self._chain.ainvoke(input, unstreamed(config), **kwargs)
        return (await self._areleased(input, [output]))[-1]

    def _stream(
        self, inputs: Iterator[Any], config: RunnableConfig, **kwargs: Any
    ) -> Iterator[Any]:
        for input in inputs:
            chunks = list(self._chain.stream(input, unstreamed(config), **kwargs))
            yield from self._released(input, chunks)

    async def _astream(
        self, inputs: AsyncIterator[Any], config: RunnableConfig, **kwargs: Any
    ) -> AsyncIterator[Any]:
        async for input in inputs:
            stream = self._chain.astream(input, unstreamed(config), **kwargs)
            for chunk in await self._areleased(input, [chunk async for chunk in stream]):
                yield chunk

    def _released(self, input: Any, chunks: list[Any]) -> list[Any]:
        """The chunks if the answer in them may leave as it is, otherwise one output instead."""
        if not chunks:
            return chunks
        output = joined(chunks)
        answer = text_of(output, self._answer)
        if not answer:  # a tool call
            return chunks
        found = self._guard.check(answer, self._passages(input, output), self._question(input))
        return [replaced(output, found, self._answer)] if found.changed else chunks

    async def _areleased(self, input: Any, chunks: list[Any]) -> list[Any]:
        released: list[Any] = await run_in_executor(None, self._released, input, chunks)
        return released

    def _passages(self, input: Any, output: Any) -> list[Given]:
        if callable(self._evidence):
            return passages_of(self._evidence(input, output))
        for place in (output, input):
            if isinstance(place, Mapping) and self._evidence in place:
                return passages_of(place[self._evidence])
        raise EvidenceError(
            f"Neither the output nor the input of the chain has '{self._evidence}'.",
            remedy="Set evidence= to the key of the documents, or to a function of both.",
        )

    def _question(self, input: Any) -> str:
        return question_in(input, self._questions)


class SufficeCallback(BaseCallbackHandler):
    """Checks the answer of a whole run against all documents that its retrievers returned.

    It raises `AnswerWithheld` at the end of the run (`on_block="raise"`), or only keeps the verdict
    (`on_block="record"`). A stream has left by then: use `SufficeGuard` to hold it back.
    """

    raise_error = True  # otherwise LangChain logs the exception and goes on

    def __init__(
        self,
        *,
        answer: str = "answer",
        on_block: Literal["raise", "record"] = "raise",
        settings: Settings | None = None,
        uncited: bool = True,
    ) -> None:
        self.verdicts: list[Verdict] = []
        """The verdicts of all runs, oldest first."""
        self._answer = answer
        raises = one_of(on_block, "on_block", ("raise", "record")) == "raise"
        self._guard = Guard(
            settings,
            uncited=uncited,
            on_block="raise" if raises else "replace",
            on_verdict=self.verdicts.append,
        )
        self._roots: dict[UUID, UUID] = {}
        self._asked: dict[UUID, str] = {}
        self._found: dict[UUID, list[Given]] = {}

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,
    ) -> None:
        root = self._roots.get(parent_run_id, parent_run_id) if parent_run_id else run_id
        self._roots[run_id] = root
        if root == run_id:
            self._asked[root], self._found[root] = question_in(inputs, _QUESTIONS), []

    def on_retriever_end(
        self, documents: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        root = self._roots.get(parent_run_id) if parent_run_id else None
        if root in self._found:
            self._found[root] += passages_of(documents)

    def on_chain_end(
        self, outputs: Any, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any
    ) -> None:
        root = self._roots.pop(run_id, None)
        if root != run_id:
            return
        question, passages = self._asked.pop(run_id), self._found.pop(run_id)
        if answer := text_of(outputs, self._answer):
            self._guard.check(answer, passages, question)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        self._roots.pop(run_id, None)
        self._asked.pop(run_id, None)
        self._found.pop(run_id, None)


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
