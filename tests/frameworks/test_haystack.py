"""The Haystack components inside Haystack's own pipelines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

pytest.importorskip("haystack")

from haystack import Document, Pipeline
from haystack.components.builders import ChatPromptBuilder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.core.errors import PipelineRuntimeError
from haystack.dataclasses import ChatMessage, StreamingChunk, ToolCall
from haystack.utils import Secret

from suffice.errors import AnswerWithheld, SettingsError
from suffice.integrations.haystack import SufficeChatGenerator, SufficeChecker, SufficeGate
from suffice.testing import ScriptedUpstream, says
from tests.frameworks.leave import QUESTION, RIGHT, TEXTS, UNANSWERED, WRONG, blocked, example

DOCUMENTS = [Document(content=text) for text in TEXTS]
TEMPLATE = "{% for one in documents %}{{ one.content }}\n{% endfor %}{{ query }}"


def generator(upstream: ScriptedUpstream) -> OpenAIChatGenerator:
    return OpenAIChatGenerator(
        model="any", api_key=Secret.from_token("none"), api_base_url=upstream.url, max_retries=0
    )


def prompted(**parts: Any) -> Pipeline:
    pipeline = Pipeline()
    prompt = ChatPromptBuilder([ChatMessage.from_user(TEMPLATE)], required_variables="*")
    pipeline.add_component("prompt", prompt)
    for name, part in parts.items():
        pipeline.add_component(name, part)
    pipeline.connect("prompt.prompt", "llm.messages")
    return pipeline


def guarded(upstream: ScriptedUpstream, **options: Any) -> Pipeline:
    return prompted(llm=SufficeChatGenerator(generator(upstream), **options))


def data(question: str = QUESTION, **more: Any) -> dict[str, Any]:
    given = {"documents": DOCUMENTS, "query": question}
    return {"prompt": given, "llm": {**given, **more}}


def test_a_hallucination_is_replaced() -> None:
    with ScriptedUpstream([says(WRONG)]) as upstream:
        made = guarded(upstream).run(data())["llm"]
        assert blocked(made["replies"][0].text)
        assert made["verdicts"][0]["verdict"] == "WITHHOLD"
        later = asyncio.run(guarded(upstream).run_async(data()))
        assert blocked(later["llm"]["replies"][0].text)


def test_a_grounded_answer_is_unchanged() -> None:
    with ScriptedUpstream([says(RIGHT)]) as upstream:
        made = guarded(upstream).run(data())["llm"]
        assert (made["replies"][0].text, made["verdicts"][0]["verdict"]) == (RIGHT, "SERVE")


def test_a_callback_receives_checked_text_only() -> None:
    chunks: list[StreamingChunk] = []
    with ScriptedUpstream([says(WRONG)]) as upstream:
        guarded(upstream).run(data(streaming_callback=chunks.append))
    assert blocked("".join(chunk.content for chunk in chunks))


@pytest.mark.skipif(not hasattr(Pipeline, "stream"), reason="needs Haystack 3")
@pytest.mark.parametrize("answer", [WRONG, RIGHT])
def test_the_stream_of_a_pipeline(answer: str) -> None:
    async def run(upstream: ScriptedUpstream) -> str:
        stream = guarded(upstream).stream(data())
        return "".join([chunk.content async for chunk in stream])

    with ScriptedUpstream([says(answer)]) as upstream:
        told = asyncio.run(run(upstream))
    assert blocked(told) if answer == WRONG else told == RIGHT


@pytest.mark.skipif(not hasattr(Pipeline, "stream"), reason="needs Haystack 3")
def test_the_checker_behind_a_generator() -> None:
    async def run(pipeline: Pipeline, given: dict[str, Any]) -> str:
        stream = pipeline.stream(given, streaming_components=["checker"])
        return "".join([chunk.content async for chunk in stream])

    with ScriptedUpstream([says(WRONG)]) as upstream:
        pipeline = prompted(llm=generator(upstream), checker=SufficeChecker())
        pipeline.connect("llm.replies", "checker.replies")
        given = {"prompt": data()["prompt"], "checker": data()["prompt"]}
        assert blocked(pipeline.run(given)["checker"]["replies"][0].text)
        assert blocked(asyncio.run(run(pipeline, given)))


def test_raising() -> None:
    with ScriptedUpstream([says(WRONG)]) as upstream:
        with pytest.raises((AnswerWithheld, PipelineRuntimeError)) as raised:
            guarded(upstream, on_block="raise").run(data())
        assert isinstance(raised.value.__cause__ or raised.value, AnswerWithheld)


def test_a_generator_that_streams_by_itself_is_refused() -> None:
    with ScriptedUpstream([says(WRONG)]) as upstream:
        inner = generator(upstream)
        inner.streaming_callback = print
        with pytest.raises(SettingsError, match="streaming_callback"):
            SufficeChatGenerator(inner)


def test_tool_calls_pass() -> None:
    call = ChatMessage.from_assistant(tool_calls=[ToolCall("search", {"query": "leave"})])
    assert SufficeChecker().run([call], DOCUMENTS)["replies"] == [call]


def test_a_closed_gate_asks_no_llm() -> None:
    with ScriptedUpstream([says(RIGHT)]) as upstream:
        pipeline = prompted(llm=generator(upstream), gate=SufficeGate())
        pipeline.connect("gate.documents", "prompt.documents")

        def asked(question: str) -> dict[str, Any]:
            given = {"query": question, "documents": DOCUMENTS}
            return {"gate": given, "prompt": {"query": question}}

        closed = pipeline.run(asked(UNANSWERED))
        assert "documents" in closed["gate"]["refusal"]
        assert upstream.requests == []
        assert "refusal" in asyncio.run(pipeline.run_async(asked(UNANSWERED)))["gate"]
        assert pipeline.run(asked(QUESTION))["llm"]["replies"][0].text == RIGHT
        assert len(upstream.requests) == 1


def test_components_are_serialized() -> None:
    pipeline = Pipeline()
    pipeline.add_component("gate", SufficeGate())
    pipeline.add_component("checker", SufficeChecker(on_block="raise"))
    trusted = {"allowed_modules": ["suffice.*"]} if hasattr(Pipeline, "stream") else {}
    again = Pipeline.loads(pipeline.dumps(), **trusted)
    assert again.get_component("checker").on_block == "raise"


def test_the_example() -> None:
    told = example("haystack_guard.py")
    assert "documents" in told
    assert "52" not in told
