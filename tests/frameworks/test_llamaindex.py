"""The LlamaIndex adapters inside LlamaIndex's own query engines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import Settings, get_response_synthesizer
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode

from suffice.errors import AnswerWithheld, EvidenceInsufficient, QuestionError
from suffice.integrations.llamaindex import SufficePostprocessor, SufficeQueryEngine
from tests.frameworks.leave import QUESTION, RIGHT, TEXTS, UNANSWERED, WRONG, blocked, example

Settings.embed_model = None


class Says(CustomLLM):
    """Replies with one text; streams it word by word."""

    text: str = ""
    asked: list[str] = []  # noqa: RUF012

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **more: Any) -> Any:
        self.asked.append(prompt)
        return CompletionResponse(text=self.text)

    def stream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> Any:
        words = self.text.split(" ")
        for n, word in enumerate(words, 1):
            delta = word if n == 1 else f" {word}"
            yield CompletionResponse(text=" ".join(words[:n]), delta=delta)


class Shelf(BaseRetriever):
    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [NodeWithScore(node=TextNode(text=text), score=1.0) for text in TEXTS]


def engine(answer: str, *, streaming: bool = False, gate: Any = None, **options: Any) -> Any:
    synthesizer = get_response_synthesizer(llm=Says(text=answer), streaming=streaming)
    inner = RetrieverQueryEngine(Shelf(), synthesizer, node_postprocessors=[gate] if gate else [])
    return SufficeQueryEngine(inner, **options)


def test_a_hallucination_is_replaced() -> None:
    response = engine(WRONG).query(QUESTION)
    assert blocked(str(response))
    assert response.metadata["suffice"]["verdict"] == "WITHHOLD"
    assert len(response.source_nodes) == 2
    assert blocked(str(asyncio.run(engine(WRONG).aquery(QUESTION))))


def test_a_grounded_answer_is_unchanged() -> None:
    response = engine(RIGHT).query(QUESTION)
    assert (str(response), response.metadata["suffice"]["verdict"]) == (RIGHT, "SERVE")
    assert str(asyncio.run(engine(RIGHT).aquery(QUESTION))) == RIGHT


def test_a_stream_is_checked_before_it_is_released() -> None:
    assert blocked("".join(engine(WRONG, streaming=True).query(QUESTION).response_gen))
    pieces = list(engine(RIGHT, streaming=True).query(QUESTION).response_gen)
    assert "".join(pieces) == RIGHT
    assert len(pieces) > 1
    assert blocked(str(engine(WRONG, streaming=True).query(QUESTION)))


def test_an_asynchronous_stream() -> None:
    async def run(answer: str) -> str:
        response = await engine(answer, streaming=True).aquery(QUESTION)
        return "".join([token async for token in response.async_response_gen()])

    assert blocked(asyncio.run(run(WRONG)))
    assert asyncio.run(run(RIGHT)) == RIGHT


def test_raising() -> None:
    with pytest.raises(AnswerWithheld):
        engine(WRONG, on_block="raise").query(QUESTION)
    with pytest.raises(AnswerWithheld):
        asyncio.run(engine(WRONG, on_block="raise").aquery(QUESTION))
    stream = engine(WRONG, streaming=True, on_block="raise").query(QUESTION).response_gen
    with pytest.raises(AnswerWithheld):
        next(stream)


def test_the_postprocessor_gates() -> None:
    gate = SufficePostprocessor()
    nodes = Shelf().retrieve(QUESTION)
    assert gate.postprocess_nodes(nodes, query_str=QUESTION)[0].text == TEXTS[0]
    assert gate.postprocess_nodes(nodes, query_str=UNANSWERED) == []
    assert asyncio.run(gate.apostprocess_nodes(nodes, query_str=UNANSWERED)) == []
    with pytest.raises(QuestionError):
        gate.postprocess_nodes(nodes)
    with pytest.raises(EvidenceInsufficient):
        engine(RIGHT, gate=SufficePostprocessor(on_insufficient="raise")).query(UNANSWERED)


def test_a_closed_gate_asks_no_llm() -> None:
    llm = Says(text=WRONG, asked=[])
    inner = RetrieverQueryEngine(
        Shelf(), get_response_synthesizer(llm=llm), node_postprocessors=[SufficePostprocessor()]
    )
    inner.query(UNANSWERED)
    assert llm.asked == []
    inner.query(QUESTION)
    assert len(llm.asked) == 1


def test_the_example() -> None:
    told = example("llamaindex_guard.py")
    assert "documents" in told
    assert told.startswith("WITHHOLD")
