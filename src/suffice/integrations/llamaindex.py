"""LlamaIndex: a node postprocessor that gates, and a query engine whose responses are checked.

>>> engine = index.as_query_engine(node_postprocessors=[SufficePostprocessor()])
>>> engine = SufficeQueryEngine(engine)

A streaming response is read to its end, checked against its source nodes, and then released.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

from suffice.errors import ExtraMissing, QuestionError
from suffice.integrations.guard import (
    Checked,
    EvidenceGate,
    Guard,
    OnBlock,
    OnInsufficient,
    passage_of,
)
from suffice.settings import Settings
from suffice.types import Verdict

try:
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.response.schema import (
        AsyncStreamingResponse,
        Response,
        StreamingResponse,
    )
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError as problem:
    raise ExtraMissing("The LlamaIndex integration", "llamaindex") from problem


class SufficePostprocessor(BaseNodePostprocessor):
    """Keeps the nodes only if they are enough to answer the query.

    Otherwise it returns no nodes, so that the LLM is not called, or raises `EvidenceInsufficient`
    (`on_insufficient="raise"`). Outdated nodes are left out.
    """

    on_insufficient: OnInsufficient = "empty"
    _gate: EvidenceGate = PrivateAttr()

    def __init__(self, gate: Any = None, **fields: Any) -> None:
        super().__init__(**fields)
        self._gate = EvidenceGate(gate, on_insufficient=self.on_insufficient)

    @classmethod
    def class_name(cls) -> str:
        return "SufficePostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise QuestionError(
                "The postprocessor was called without a query.",
                remedy="Pass query_str or query_bundle.",
            )
        return self._gate.select(query_bundle.query_str, nodes, _passage)[0]


class ResponseGuard:
    """Checks a response against its source nodes. Use it where you call a query engine yourself;
    `SufficeQueryEngine` does so for every query."""

    def __init__(
        self,
        *,
        settings: Settings | None = None,
        uncited: bool = True,
        on_block: OnBlock = "replace",
        on_verdict: Callable[[Verdict], object] | None = None,
    ) -> None:
        self._guard = Guard(settings, uncited=uncited, on_block=on_block, on_verdict=on_verdict)

    def check(self, response: Any, question: str = "") -> Any:
        """The response as it may leave. A stream is checked when it is read."""
        if isinstance(response, StreamingResponse):
            return replace(response, response_gen=self._tokens(response, question))
        found = self._checked(str(response), response, question)
        return _released(response, found)

    async def acheck(self, response: Any, question: str = "") -> Any:
        """`check` without blocking the event loop."""
        if isinstance(response, AsyncStreamingResponse):
            return AsyncStreamingResponse(
                self._atokens(response, question), response.source_nodes, response.metadata
            )
        return await asyncio.to_thread(self.check, response, question)

    def _tokens(self, response: Any, question: str) -> Iterator[str]:
        tokens = list(response.response_gen)
        found = self._checked("".join(tokens), response, question)
        yield from [found.text] if found.changed else tokens

    async def _atokens(self, response: Any, question: str) -> AsyncIterator[str]:
        tokens = [token async for token in response.response_gen]
        found = await asyncio.to_thread(self._checked, "".join(tokens), response, question)
        for token in [found.text] if found.changed else tokens:
            yield token

    def _checked(self, answer: str, response: Any, question: str) -> Checked:
        passages = [_passage(node) for node in response.source_nodes]
        return self._guard.check(answer, passages, question)


class SufficeQueryEngine(BaseQueryEngine):
    """Wraps a query engine: its responses are checked. The options are those of `ResponseGuard`."""

    def __init__(self, engine: BaseQueryEngine, **options: Any) -> None:
        super().__init__(engine.callback_manager)
        self._engine, self._guard = engine, ResponseGuard(**options)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {"engine": self._engine}

    def _query(self, query_bundle: QueryBundle) -> Any:
        return self._guard.check(self._engine.query(query_bundle), query_bundle.query_str)

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        response = await self._engine.aquery(query_bundle)
        return await self._guard.acheck(response, query_bundle.query_str)


def _released(response: Any, found: Checked) -> Any:
    metadata = {**(response.metadata or {}), "suffice": found.summary}
    if found.changed:
        return Response(found.text, response.source_nodes, metadata)
    response.metadata = metadata
    return response


def _passage(node: NodeWithScore) -> dict[str, Any]:
    return passage_of(node.node.get_content(MetadataMode.NONE), node.node.metadata)
