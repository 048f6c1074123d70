"""Anthropic's Messages API with the official SDK, in front of an OpenAI-compatible upstream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
import pytest

from suffice.access.keys import Principals
from suffice.evidence.library import Library
from suffice.server.anthropic.translate import as_chat
from suffice.server.errors import ApiError
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import Scripted, ScriptedUpstream, calls, fails, says, streams
from tests.server.gateway import (
    OFF_TOPIC,
    PASSAGE,
    QUESTION,
    RIGHT,
    SERVED,
    WRONG,
    RunningGateway,
    plays,
    routes,
    running,
)
from tests.waiting import PATIENCE

DOCUMENT: dict[str, Any] = {
    "type": "document",
    "title": "Handbook",
    "source": {"type": "text", "media_type": "text/plain", "data": PASSAGE},
}
TOOL: dict[str, Any] = {
    "name": "look_up",
    "description": "Look up a rule.",
    "input_schema": {"type": "object", "properties": {"topic": {"type": "string"}}},
}


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    own = CollectionSettings(
        draft=DraftSettings(retries=0, revisions=0), verdict=VerdictSettings(rescue=False)
    )
    route = RouteSettings(upstream=upstream.url, own=own)
    named = {
        "default": route,
        "signal": RouteSettings(upstream=upstream.url, own=own, streaming="signal"),
        "chat": RouteSettings(upstream=upstream.url, own=own, grounding=False),
        "shadow": RouteSettings(upstream=upstream.url, own=own, shadow=True),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


def client(gateway: RunningGateway, route: str = "", key: str = "any") -> anthropic.Anthropic:
    base = f"{gateway.url}/{route}" if route else gateway.url
    return anthropic.Anthropic(base_url=base, api_key=key, max_retries=0, timeout=PATIENCE)


def asks(content: Any = QUESTION, **more: Any) -> dict[str, Any]:
    return {
        "model": "any",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": content}],
        **more,
    }


def text_of(message: Any) -> str:
    return "".join(block.text for block in message.content if block.type == "text")


def test_an_answer_is_served_with_its_verdict(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    asked = asks(system="Be brief.", stop_sequences=["END"])
    more: Any = {"temperature": 0.5}
    message: Any = client(modes).messages.create(**asked, extra_body=more)
    assert (message.type, message.role, message.model) == ("message", "assistant", "any")
    assert (text_of(message), message.stop_reason) == (RIGHT, "end_turn")
    assert message.usage.input_tokens == 10
    assert message.suffice["verdict"] == "SERVE"
    assert message.sufficiency["level"] == "sufficient"
    (sent,) = upstream.requests
    assert (sent["max_tokens"], sent["temperature"], sent["stop"]) == (100, 0.5, ["END"])
    assert sent["messages"][0]["content"].startswith("Be brief.")
    assert sent["messages"][-1] == {"role": "user", "content": QUESTION}


@pytest.mark.parametrize(("draft", "question"), [(WRONG, QUESTION), (RIGHT, OFF_TOPIC)])
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_withheld_says_why_and_not_the_draft(
    modes: RunningGateway, upstream: ScriptedUpstream, draft: str, question: str, stream: bool
) -> None:
    plays(upstream, says(draft))
    if stream:
        with client(modes).messages.stream(**asks(question)) as events:
            message: Any = events.get_final_message()
    else:
        message = client(modes).messages.create(**asks(question))
    assert message.suffice["verdict"] == "WITHHOLD"
    assert message.stop_reason == "end_turn"
    assert text_of(message)
    assert draft.removesuffix(" [1]") not in message.to_json()


def test_a_stream_in_buffer_mode_has_all_events_in_order(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    events: list[Any] = list(client(modes).messages.create(**asks(), stream=True))
    assert [one.type for one in events] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    last = events[-2]
    assert (last.suffice["verdict"], last.delta.stop_reason) == ("SERVE", "end_turn")
    assert last.usage.output_tokens == len(RIGHT.split())
    plays(upstream, says(RIGHT))
    with client(modes).messages.stream(**asks()) as stream:
        assert "".join(stream.text_stream) == RIGHT


def test_signal_mode_streams_and_retracts(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    wrong = f"{WRONG} And more follows. [1]"
    plays(upstream, streams(*(f"{word} " for word in wrong.split())))
    with client(modes, "signal").messages.stream(**asks()) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert len(pieces) > 5
    assert text_of(message).startswith("Eligible employees may work remotely up to 4 days")
    assert "Some claims could not be verified" in pieces[-1]
    plays(upstream, streams(*(f"{word} " for word in wrong.split())))
    raw = httpx2.post(
        f"{modes.url}/signal/v1/messages", json={**asks(), "stream": True}, timeout=PATIENCE
    ).text
    found = [json.loads(line[6:]) for line in raw.splitlines() if line.startswith("data: ")]
    pings = [one["suffice"] for one in found if one["type"] == "ping"]
    assert any("retraction" in one for one in pings)
    assert found[-2]["suffice"]["verdict"] in ("WITHHOLD", "REVIEW", "CAVEAT")
    assert "[DONE]" not in raw


def test_documents_in_the_request_are_evidence(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    result = {
        "type": "search_result",
        "source": "https://example.com/pay",
        "title": "Pay",
        "content": [{"type": "text", "text": "Pay day is the last Friday of the month."}],
    }
    plays(upstream, says(SERVED))
    content = [DOCUMENT, result, {"type": "text", "text": QUESTION}]
    more: Any = {"suffice": {"from": "request"}}
    message: Any = client(modes).messages.create(**asks(content), extra_body=more)
    assert (message.suffice["verdict"], message.suffice["question"]) == ("SERVE", QUESTION)
    assert message.suffice["sources"][0]["title"] == "Handbook"
    assert "last Friday" in upstream.requests[0]["messages"][0]["content"]
    # Without grounding they stay in the conversation.
    plays(upstream, says("Three days."))
    message = client(modes, "chat").messages.create(**asks(content))
    assert "Unverified" in text_of(message)
    assert PASSAGE in upstream.requests[0]["messages"][-1]["content"]


def test_tools_are_called_and_their_results_are_evidence(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, calls("look_up", '{"topic": "remote"}'))
    for stream in (False, True):
        asked = asks("Look it up, please: how many remote days?", tools=[TOOL])
        if stream:
            with client(modes).messages.stream(**asked) as events:
                message: Any = events.get_final_message()
        else:
            message = client(modes).messages.create(**asked, tool_choice={"type": "auto"})
        assert message.stop_reason == "tool_use"
        (block,) = message.content
        assert (block.type, block.name, block.input) == ("tool_use", "look_up", {"topic": "remote"})
    sent = upstream.requests[0]
    assert sent["tool_choice"] == "auto"
    assert sent["tools"][0]["function"]["parameters"] == TOOL["input_schema"]
    turns = [
        {"role": "user", "content": QUESTION},
        {
            "role": "assistant",
            "content": [block.model_dump(include={"type", "id", "name", "input"})],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": block.id, "content": PASSAGE}],
        },
    ]
    plays(upstream, says(SERVED))
    more: Any = {"suffice": {"from": "request"}}
    asked = {**asks(tools=[TOOL]), "messages": turns}
    answered: Any = client(modes).messages.create(**asked, extra_body=more)
    assert (text_of(answered), answered.suffice["verdict"]) == (SERVED, "SERVE")
    roles = [one["role"] for one in upstream.requests[0]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize("stream", [False, True])
def test_shadow_mode_changes_nothing(
    modes: RunningGateway, upstream: ScriptedUpstream, stream: bool
) -> None:
    plays(upstream, says(WRONG))
    if stream:
        with client(modes, "shadow").messages.stream(**asks()) as events:
            message: Any = events.get_final_message()
    else:
        raw = client(modes, "shadow").messages.with_raw_response.create(**asks())
        assert raw.headers["x-suffice-verdict"] == "WITHHOLD"
        message = raw.parse()
    assert text_of(message) == WRONG
    assert "suffice" not in message.to_dict()
    assert message.usage.output_tokens == len(WRONG.split())


@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"max_tokens": 0}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "video"}]}]}, "messages[0].content"),
        ({"tools": [{"type": "web_search_20250305", "name": "w"}]}, "tools[0].type"),
        ({"tool_choice": {"type": "maybe"}}, "tool_choice"),
        ({"system": 7}, "system"),
        ({"stream": "yes"}, "stream"),
    ],
)
def test_bad_input_is_told_in_anthropics_words(
    modes: RunningGateway, change: dict[str, Any], param: str
) -> None:
    with pytest.raises(anthropic.BadRequestError) as told:
        client(modes).messages.create(**{**asks(), "stream": False, **change})
    body: Any = told.value.body
    assert body["type"] == "error"
    assert body["error"]["type"] == "invalid_request_error"
    assert body["error"]["param"] == param


def test_upstream_errors_and_missing_keys_are_told_in_anthropics_words(
    modes: RunningGateway, upstream: ScriptedUpstream, library: Library
) -> None:
    plays(upstream, fails(429, retry_after=40))
    with pytest.raises(anthropic.RateLimitError) as limited:
        client(modes, "chat").messages.create(**asks())
    assert limited.value.response.headers["retry-after"] == "40"
    plays(upstream, Scripted(status=500, body=b"{}"))
    with pytest.raises(anthropic.InternalServerError) as failed:
        list(client(modes, "chat").messages.create(**asks(), stream=True))
    assert failed.value.body["error"]["type"] == "api_error"  # type: ignore[index]
    created = Principals(library.store.database).create("messages-user")
    locked = routes(RouteSettings(upstream=upstream.url, grounding=False), keys="required")
    with running(library, locked) as gateway:
        with pytest.raises(anthropic.AuthenticationError) as denied:
            client(gateway, key="sk-suffice-wrong").messages.create(**asks())
        assert denied.value.body["error"]["type"] == "authentication_error"  # type: ignore[index]
        plays(upstream, says("Hello."))
        message = client(gateway, key=created.secret).messages.create(**asks("Hello?"))
        assert "Hello." in text_of(message)


def test_a_stream_that_fails_late_ends_with_an_error_event(
    library: Library, upstream: ScriptedUpstream
) -> None:
    own = CollectionSettings(draft=DraftSettings(retries=0), verdict=VerdictSettings(rescue=False))
    route = RouteSettings(upstream=upstream.url, own=own, grounding=False)
    plays(upstream, Scripted(status=500, wait=0.6, body=b"{}"))
    with running(library, routes(route, keep_alive_seconds=0.1)) as gateway:
        asked = {**asks(), "stream": True}
        raw = httpx2.post(f"{gateway.base}/messages", json=asked, timeout=PATIENCE)
    assert raw.status_code == 200
    assert raw.text.startswith('event: ping\ndata: {"type": "ping"}\n\n')
    assert 'event: error\ndata: {"type":"error","error":{"type":"api_error"' in raw.text


def test_what_a_request_means_in_chat_completions() -> None:
    image = {"type": "base64", "media_type": "image/png", "data": "iVBO"}
    asked = as_chat(
        {
            "max_tokens": 5,
            "top_k": 3,
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "metadata": {"user_id": "u1"},
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
            "tool_choice": {"type": "tool", "name": "look_up", "disable_parallel_tool_use": True},
            "system": [{"type": "text", "text": "a", "cache_control": {}}, {"text": "b"}],
            "messages": [
                {"role": "user", "content": [{"type": "image", "source": image}]},
                {"role": "assistant", "content": [{"type": "thinking", "thinking": "…"}]},
                {"role": "user", "content": "?"},
            ],
        }
    )
    url = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}
    assert asked == {
        "max_tokens": 5,
        "user": "u1",
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}},
        },
        "tool_choice": {"type": "function", "function": {"name": "look_up"}},
        "parallel_tool_calls": False,
        "messages": [
            {"role": "system", "content": "a\nb"},
            {"role": "user", "content": [url]},
            {"role": "assistant", "content": ""},
            {"role": "user", "content": "?"},
        ],
    }
    file = {"type": "document", "source": {"type": "base64", "data": "JVBE"}}
    with pytest.raises(ApiError, match="Only documents with text"):
        as_chat({**asks([file])})
