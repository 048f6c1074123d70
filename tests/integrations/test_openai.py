"""The guarded client of the OpenAI SDK, against a scripted upstream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest

import suffice
from suffice.errors import AnswerWithheld, EvidenceError, SettingsError, SufficeError
from suffice.testing import Reply, Scripted, ScriptedUpstream, calls, says, streams
from suffice.types import Verdict

EVIDENCE = ["Parental leave lasts 18 weeks.", "The office in Berlin closes at six."]
RIGHT = "Parental leave lasts 18 weeks."
WRONG = "Parental leave lasts 52 weeks."
ASKED: dict[str, Any] = {
    "model": "any",
    "messages": [{"role": "user", "content": "How long is parental leave?"}],
}


@pytest.fixture
def script() -> list[Reply]:
    return [says(WRONG)]


@pytest.fixture
def upstream(script: list[Reply]) -> Iterator[ScriptedUpstream]:
    with ScriptedUpstream(script) as started:
        yield started


@pytest.fixture
def client(upstream: ScriptedUpstream) -> openai.OpenAI:
    return openai.OpenAI(base_url=upstream.url, api_key="none", max_retries=0)


@pytest.fixture
def later(upstream: ScriptedUpstream) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=upstream.url, api_key="none", max_retries=0)


def text(chunks: list[Any]) -> str:
    return "".join(
        choice.delta.content or "" for chunk in chunks for choice in chunk.choices if choice.delta
    )


def blocked(answer: str) -> bool:
    return "52" not in answer and "documents" in answer


def test_a_hallucination_is_replaced(client: openai.OpenAI) -> None:
    seen: list[Verdict] = []
    guarded = suffice.openai.guard(client, on_verdict=seen.append)
    made = guarded.chat.completions.create(**ASKED, evidence=EVIDENCE)
    assert blocked(made.choices[0].message.content)
    assert made.suffice["verdict"] == "WITHHOLD"
    assert "52" not in made.model_dump_json()
    assert seen[0].draft is not None
    assert seen[0].draft.text == WRONG


@pytest.mark.parametrize("script", [[says(RIGHT)]])
def test_a_grounded_answer_is_unchanged(client: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    guarded = suffice.openai.guard(client, EVIDENCE)
    made = guarded.chat.completions.create(**ASKED)
    assert (made.choices[0].message.content, made.suffice["verdict"]) == (RIGHT, "SERVE")
    assert "evidence" not in upstream.requests[0]


def test_a_stream_is_checked_before_it_is_released(client: openai.OpenAI) -> None:
    guarded = suffice.openai.guard(client, EVIDENCE)
    with guarded.chat.completions.create(**ASKED, stream=True) as stream:
        chunks = list(stream)
    assert blocked(text(chunks))
    assert chunks[-1].usage is not None
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"


@pytest.mark.parametrize("script", [[streams("Parental leave ", "lasts ", "18 weeks.")]])
def test_a_grounded_stream_keeps_its_pieces(client: openai.OpenAI) -> None:
    guarded = suffice.openai.guard(client, EVIDENCE)
    pieces = [
        chunk.choices[0].delta.content
        for chunk in guarded.chat.completions.create(**ASKED, stream=True)
        if chunk.choices and chunk.choices[0].delta.content
    ]
    assert pieces == ["Parental leave ", "lasts ", "18 weeks."]


def test_the_asynchronous_client(later: openai.AsyncOpenAI) -> None:
    async def run() -> None:
        async with suffice.openai.guard(later, EVIDENCE) as guarded:
            made = await guarded.chat.completions.create(**ASKED)
            assert blocked(made.choices[0].message.content)
            async with await guarded.chat.completions.create(**ASKED, stream=True) as stream:
                assert blocked(text([chunk async for chunk in stream]))

    asyncio.run(run())


def test_raising(client: openai.OpenAI, later: openai.AsyncOpenAI) -> None:
    guarded = suffice.openai.guard(client, EVIDENCE, on_block="raise")
    with pytest.raises(AnswerWithheld) as raised:
        guarded.chat.completions.create(**ASKED)
    assert raised.value.verdict.action is suffice.Action.WITHHOLD
    assert "52" not in str(raised.value)
    with pytest.raises(AnswerWithheld):
        next(guarded.chat.completions.create(**ASKED, stream=True))

    async def run() -> None:
        other = suffice.openai.guard(later, EVIDENCE, on_block="raise")
        with pytest.raises(AnswerWithheld):
            await other.chat.completions.create(**ASKED)
        with pytest.raises(AnswerWithheld):
            await anext(await other.chat.completions.create(**ASKED, stream=True))

    asyncio.run(run())


@pytest.mark.parametrize("script", [[says(RIGHT, WRONG)]])
def test_every_choice_is_checked(client: openai.OpenAI) -> None:
    guarded = suffice.openai.guard(client, EVIDENCE)
    made = guarded.chat.completions.create(**ASKED, n=2)
    first, second = (choice.message.content for choice in made.choices)
    assert first == RIGHT
    assert blocked(second)
    assert [one["verdict"] for one in made.suffice] == ["SERVE", "WITHHOLD"]


def _telling(answer: str) -> Scripted:
    """A reply that repeats its text in other fields."""
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "logprobs": {"content": [{"token": "52", "logprob": 0, "bytes": None, "top_logprobs": []}]},
        "message": {"role": "assistant", "content": answer, "reasoning_content": "52, surely"},
    }
    frame = {"id": "x", "object": "chat.completion", "created": 0, "model": "any"}
    return Scripted(body=json.dumps({**frame, "choices": [choice]}).encode())


@pytest.mark.parametrize("script", [[_telling(WRONG)]])
def test_no_other_field_repeats_a_withheld_answer(client: openai.OpenAI) -> None:
    made = suffice.openai.guard(client, EVIDENCE).chat.completions.create(**ASKED)
    assert "52" not in made.model_dump_json()


@pytest.mark.parametrize("script", [[_telling(RIGHT)]])
def test_reasoning_beside_a_served_answer_is_removed(client: openai.OpenAI) -> None:
    made = suffice.openai.guard(client, EVIDENCE).chat.completions.create(**ASKED)
    assert made.choices[0].message.content == RIGHT
    assert "surely" not in made.model_dump_json()


@pytest.mark.parametrize("script", [[calls("search", '{"query": "leave"}')]])
@pytest.mark.parametrize("stream", [False, True])
def test_tool_calls_pass(client: openai.OpenAI, *, stream: bool) -> None:
    guarded = suffice.openai.guard(client, EVIDENCE)
    made = guarded.chat.completions.create(**ASKED, stream=stream)
    found = (
        [chunk.choices[0].delta for chunk in made if chunk.choices]
        if stream
        else [made.choices[0].message]
    )
    assert any(one.tool_calls for one in found)


def test_evidence_from_a_search(client: openai.OpenAI) -> None:
    asked: list[str] = []

    def search(question: str) -> list[str]:
        asked.append(question)
        return EVIDENCE

    suffice.openai.guard(client, search).chat.completions.create(**ASKED)
    assert asked == ["How long is parental leave?"]


def test_without_evidence_nothing_is_asked(
    client: openai.OpenAI, upstream: ScriptedUpstream
) -> None:
    with pytest.raises(EvidenceError, match="evidence="):
        suffice.openai.guard(client).chat.completions.create(**ASKED)
    assert upstream.requests == []
    made = suffice.openai.guard(client).chat.completions.create(**ASKED, evidence=[])
    assert made.suffice["verdict"] == "WITHHOLD"


def test_other_ways_to_generate_text_are_closed(client: openai.OpenAI) -> None:
    guarded = suffice.openai.guard(client, EVIDENCE)
    for name in ("responses", "completions", "beta", "with_raw_response"):
        with pytest.raises(AttributeError, match="not guarded"):
            getattr(guarded, name)
    with pytest.raises(AttributeError, match="not guarded"):
        guarded.chat.completions.parse(**ASKED)
    assert guarded.models.list().data[0].id == "scripted"
    made = guarded.with_options(timeout=5).chat.completions.create(**ASKED)
    assert blocked(made.choices[0].message.content)


def test_wrong_arguments() -> None:
    with pytest.raises(SufficeError, match="not str"):
        suffice.openai.guard("https://…")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="on_block"):
        suffice.openai.guard(openai.OpenAI(api_key="none"), on_block="drop")  # type: ignore[arg-type]
