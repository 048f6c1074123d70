"""Haystack: components that gate documents and check replies.

>>> pipeline.add_component("gate", SufficeGate())
>>> pipeline.add_component("llm", SufficeChatGenerator(OpenAIChatGenerator()))

`SufficeChatGenerator` streams the checked reply as one chunk. With `SufficeChecker` behind a
generator, stream from the checker only: `pipeline.stream(…, streaming_components=["checker"])`.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from suffice.errors import ExtraMissing, SettingsError
from suffice.integrations.guard import EvidenceGate, Guard, OnBlock, passage_of
from suffice.settings import Settings
from suffice.types import GateDecision, Verdict
from suffice.verdict.wording import gate_refusal, rendered_reason

try:
    from haystack import Document, component
    from haystack.dataclasses import ChatMessage, StreamingChunk
except ImportError as problem:
    raise ExtraMissing("The Haystack integration", "haystack") from problem


@component
class SufficeGate:
    """Passes documents on only if they are enough to answer the query.

    Its outputs are `documents` if the gate is open, and `refusal` (a text) if it is closed: what
    follows `documents` then does not run. Outdated documents are left out.
    """

    def __init__(self, gate: Any = None) -> None:
        self.gate = gate
        self._gate = EvidenceGate(gate)

    @component.output_types(documents=list[Document], refusal=str)
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        kept, decision = self._gate.select(query, documents, _passage)
        return {"documents": kept} if decision.open else {"refusal": _refusal(decision, documents)}

    @component.output_types(documents=list[Document], refusal=str)
    async def run_async(self, query: str, documents: list[Document]) -> dict[str, Any]:
        return await asyncio.to_thread(self.run, query, documents)


@component
class SufficeChecker:
    """Checks replies against the documents they were written from.

    A withheld reply is replaced by the refusal, or raises `AnswerWithheld` (`on_block="raise"`).
    `streaming_callback` receives every reply after its check, as one chunk.
    """

    def __init__(
        self,
        on_block: OnBlock = "replace",
        uncited: bool = True,
        settings: Settings | None = None,
        on_verdict: Callable[[Verdict], object] | None = None,
        streaming_callback: Callable[[StreamingChunk], Any] | None = None,
    ) -> None:
        self.on_block, self.uncited, self.settings = on_block, uncited, settings
        self.on_verdict, self.streaming_callback = on_verdict, streaming_callback
        self._guard = Guard(settings, uncited=uncited, on_block=on_block, on_verdict=on_verdict)

    @component.output_types(replies=list[ChatMessage], verdicts=list[dict[str, Any]])
    def run(
        self,
        replies: list[ChatMessage],
        documents: list[Document],
        query: str = "",
        streaming_callback: Callable[[StreamingChunk], Any] | None = None,
    ) -> dict[str, Any]:
        made = self._checked(replies, documents, query)
        callback = streaming_callback or self.streaming_callback
        for reply in made["replies"] if callback else ():
            callback(StreamingChunk(reply.text or ""))  # type: ignore[misc]
        return made

    @component.output_types(replies=list[ChatMessage], verdicts=list[dict[str, Any]])
    async def run_async(
        self,
        replies: list[ChatMessage],
        documents: list[Document],
        query: str = "",
        streaming_callback: Callable[[StreamingChunk], Any] | None = None,
    ) -> dict[str, Any]:
        made = await asyncio.to_thread(self._checked, replies, documents, query)
        callback = streaming_callback or self.streaming_callback
        for reply in made["replies"] if callback else ():
            sent = callback(StreamingChunk(reply.text or ""))  # type: ignore[misc]
            if inspect.isawaitable(sent):
                await sent
        return made

    def _checked(
        self, replies: list[ChatMessage], documents: list[Document], query: str
    ) -> dict[str, Any]:
        passages = [_passage(one) for one in documents]
        released, verdicts = [], []
        for reply in replies:
            answer = "\n".join(reply.texts)
            if not answer:  # a tool call
                released.append(reply)
                continue
            found = self._guard.check(answer, passages, query)
            verdicts.append(found.summary)
            released.append(_replaced(reply, found.text, found.summary) if found.changed else reply)
        return {"replies": released, "verdicts": verdicts}


@component
class SufficeChatGenerator:
    """Wraps a chat generator: replies, also streamed ones, leave after they were checked. The
    options are those of `SufficeChecker`."""

    def __init__(self, generator: Any, **options: Any) -> None:
        if getattr(generator, "streaming_callback", None) is not None:
            raise SettingsError(
                "The wrapped generator has a streaming callback, which would get unchecked text.",
                remedy="Pass streaming_callback to SufficeChatGenerator instead.",
            )
        self.generator = generator
        self._checker = SufficeChecker(**options)

    def warm_up(self) -> None:
        if hasattr(self.generator, "warm_up"):
            self.generator.warm_up()

    @component.output_types(replies=list[ChatMessage], verdicts=list[dict[str, Any]])
    def run(
        self,
        messages: list[ChatMessage],
        documents: list[Document],
        query: str = "",
        streaming_callback: Callable[[StreamingChunk], Any] | None = None,
        generation_kwargs: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        made = self.generator.run(messages=messages, generation_kwargs=generation_kwargs)
        return dict(self._checker.run(made["replies"], documents, query, streaming_callback))

    @component.output_types(replies=list[ChatMessage], verdicts=list[dict[str, Any]])
    async def run_async(
        self,
        messages: list[ChatMessage],
        documents: list[Document],
        query: str = "",
        streaming_callback: Callable[[StreamingChunk], Any] | None = None,
        generation_kwargs: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        made = await self._generated(messages, generation_kwargs)
        checked = self._checker.run_async(made["replies"], documents, query, streaming_callback)
        return dict(await checked)

    async def _generated(self, messages: Any, generation_kwargs: Any) -> dict[str, Any]:
        options = {"messages": messages, "generation_kwargs": generation_kwargs}
        if hasattr(self.generator, "run_async"):
            return dict(await self.generator.run_async(**options))
        return dict(await asyncio.to_thread(self.generator.run, **options))


def _passage(document: Document) -> dict[str, Any]:
    return passage_of(document.content or "", document.meta)


def _refusal(decision: GateDecision, found: list[Document]) -> str:
    steps = "\n".join(f"- {step}" for step in decision.next_steps)
    reason = rendered_reason(gate_refusal(decision, len(found)))
    return f"{reason}\n\nNext steps:\n{steps}" if steps else reason


def _replaced(reply: ChatMessage, text: str, told: dict[str, Any]) -> ChatMessage:
    # The other fields (reasoning, log probabilities) repeat the withheld text.
    return ChatMessage.from_assistant(
        text, meta={"suffice": told}, tool_calls=reply.tool_calls or None
    )
