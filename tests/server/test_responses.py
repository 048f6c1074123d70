"""Streams of `/v1/responses` as the official SDK sees them: both modes, and shadow mode."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import openai
import pytest

from suffice.evidence.library import Library
from suffice.log.decision import decision_of
from suffice.server.openai.reply import usage_of
from suffice.server.openai.responses import as_chat
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import Scripted, ScriptedUpstream, calls, cut, fails, says, streams
from suffice.types import Action
from tests.server.events import piece, said, sends
from tests.server.gateway import (
    OFF_TOPIC,
    QUESTION,
    RIGHT,
    WRONG,
    RunningGateway,
    plays,
    routes,
    running,
)
from tests.waiting import until

OWN = CollectionSettings(
    draft=DraftSettings(revisions=0, retries=0), verdict=VerdictSettings(rescue=False)
)


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    buffer = RouteSettings(upstream=upstream.url, own=OWN)
    named = {
        "default": buffer,
        "signal": replace(buffer, streaming="signal"),
        "free": replace(buffer, grounding=False),
        "shadow": replace(buffer, shadow=True, models={"m": "there"}),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


def client(gateway: RunningGateway, route: str) -> Any:
    return gateway.client().with_options(base_url=f"{gateway.url}/{route}/v1")


def events(gateway: RunningGateway, route: str = "signal", **more: Any) -> list[Any]:
    asked = {"model": "m", "input": QUESTION, **more}
    return list(client(gateway, route).responses.create(stream=True, **asked))


def told(parts: list[Any]) -> str:
    return "".join(one.delta for one in parts if one.type == "response.output_text.delta")


def test_tokens_flow_and_the_end_says_verified(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    parts = events(modes)
    deltas = [one for one in parts if one.type == "response.output_text.delta"]
    assert len(deltas) > 5
    assert told(parts).startswith(f"{RIGHT}\n\nSources verified")
    last = parts[-1]
    assert last.type == "response.completed"
    assert last.response.output_text == told(parts)
    assert last.response.suffice["record"]
    assert last.response.sufficiency["level"]
    assert last.response.usage.total_tokens > 0
    assert [one.sequence_number for one in parts] == list(range(len(parts)))
    assert [one.type for one in parts[:4]] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]


def test_a_retraction_leaves_before_the_upstream_has_finished(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    go_on = threading.Event()
    plays(upstream, streams(f"{WRONG} ", "Thursday is ", "the anchor day. [1]", hold=(2, go_on)))
    seen = ""
    # The SDK's own helper tracks the state of a response and checks the order of events.
    with client(modes, "signal").responses.stream(model="m", input=QUESTION) as stream:
        for one in stream:
            seen += one.delta if one.type == "response.output_text.delta" else ""
            retraction = (getattr(one, "suffice", None) or {}).get("retraction")
            if retraction and not go_on.is_set():
                start, end = retraction["span"]
                assert seen[start:end] == WRONG.removesuffix(" [1]")
                go_on.set()
        final = stream.get_final_response()
    assert go_on.is_set()
    assert "Some claims could not be verified" in seen
    assert final.output_text == seen
    assert final.suffice["verdict"] == "WITHHOLD"


def test_named_events_only_on_request(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    for wanted in (False, True):
        plays(upstream, says(f"{WRONG} Thursday is the anchor day. [1]"))
        parts = events(modes, extra_body={"suffice": {"events": wanted}})
        assert ("suffice.retraction" in [one.type for one in parts]) is wanted


@pytest.mark.parametrize("route", ["default", "signal"])
def test_both_modes_decide_the_same(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    plays(upstream, says(f"<think>Is it 12 days?</think>{WRONG}"))
    parts = events(modes, route)
    assert "12 days" not in json.dumps([one.model_dump(warnings=False) for one in parts])
    assert parts[-1].response.suffice["verdict"] == "WITHHOLD"
    assert (WRONG in told(parts)) is (route == "signal")
    parts = events(modes, route, input=OFF_TOPIC)
    assert "could not find an answer to this" in told(parts)
    assert parts[-1].response.suffice["verdict"] == "WITHHOLD"


@pytest.mark.parametrize("route", ["default", "signal", "free"])
def test_calls_stream_as_items(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    tool = {"type": "function", "name": "find", "parameters": {"type": "object"}}
    plays(upstream, calls("find", '{"q": 1}'))
    with client(modes, route).responses.stream(model="m", input=QUESTION, tools=[tool]) as stream:
        kinds = [one.type for one in stream]
        (call,) = stream.get_final_response().output
    assert (call.type, call.name, call.arguments) == ("function_call", "find", '{"q": 1}')
    assert "response.function_call_arguments.delta" in kinds


def test_a_call_in_pieces_after_words(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    def part(text: str, **more: Any) -> dict[str, Any]:
        return piece({"tool_calls": [{"index": 0, "function": {"arguments": text}, **more}]})

    named = piece({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "find"}}]})
    pieces = [*said("Can you ", "wait?"), named, part('{"q"'), part(": 1}")]
    plays(upstream, sends(*pieces, piece({}, "tool_calls")))
    tool: Any = {"type": "function", "name": "find", "parameters": {"type": "object"}}
    with client(modes, "free").responses.stream(model="m", input=QUESTION, tools=[tool]) as stream:
        stream.until_done()
        message, call = stream.get_final_response().output
    assert message.content[0].text == "Can you wait?"
    assert (call.name, call.call_id, call.arguments) == ("find", "c", '{"q": 1}')


def test_chat_without_documents_flows_and_says_so(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says("The moon is made of cheese."))
    assert told(events(modes, "free")).endswith("no documents were consulted for this answer.")


def test_what_broke_off_is_told_as_such(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, cut(f"{RIGHT} You may also work from the moon", after=14))
    parts = events(modes)
    assert parts[-1].type == "response.incomplete"
    assert parts[-1].response.incomplete_details.reason == "max_output_tokens"
    assert "could not be verified" in told(parts)
    plays(upstream, fails(500))
    with pytest.raises(openai.APIStatusError):
        events(modes)


RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "there",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "hm"}]},
        {
            "type": "message",
            "id": "m",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": WRONG, "annotations": []}],
        },
    ],
    "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
}


def test_shadow_changes_nothing_and_records(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, Scripted(body=json.dumps(RESPONSE).encode()))
    body = {"model": "m", "input": QUESTION, "store": True, "suffice": {"tag": "trial"}}
    reply = client(modes, "shadow").responses.with_raw_response.create(
        **{key: body[key] for key in ("model", "input", "store")},
        extra_body={"suffice": body["suffice"]},
    )
    assert upstream.requests == [{"model": "there", "input": QUESTION, "store": True}]
    assert json.loads(reply.text) == RESPONSE
    assert reply.headers["x-suffice-verdict"] == "WITHHOLD"
    assert modes.inner.log is not None
    decided = decision_of(modes.inner.log.entry(reply.headers["x-suffice-record"]))
    assert decided.verdict is not None
    assert decided.verdict.action is Action.WITHHOLD


def test_shadow_streams_what_comes(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    sent = [
        {"type": "response.created", "response": {**RESPONSE, "output": []}, "sequence_number": 0},
        {"type": "response.strange", "sequence_number": 1},
        {"type": "response.completed", "response": RESPONSE, "sequence_number": 2},
    ]
    lines = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in sent)
    headers = {"Content-Type": "text/event-stream"}
    plays(upstream, Scripted(body=lines.encode(), headers=headers))
    seen: list[Any] = []
    modes.inner.watches.append(seen.append)
    try:
        parts = events(modes, "shadow")
        until(lambda: seen)  # reported once the last byte was sent
    finally:
        modes.inner.watches.remove(seen.append)
    assert [one.type for one in parts] == [one["type"] for one in sent]
    assert parts[-1].response.output_text == WRONG
    assert "suffice" not in json.dumps(parts[-1].model_dump(warnings=False))
    assert [one.action for one in seen[0].verdicts] == [Action.WITHHOLD]
    assert seen[0].tokens == 7


def test_shadow_lets_on_what_it_cannot_judge(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, Scripted(body=json.dumps(RESPONSE).encode()))
    asked = {"model": "m", "input": QUESTION, "previous_response_id": "resp_0"}
    reply = client(modes, "shadow").responses.with_raw_response.create(**asked)
    assert upstream.requests == [asked | {"model": "there"}]
    assert "x-suffice-record" not in reply.headers
    plays(upstream, fails(404, message="no such path"))
    with pytest.raises(openai.NotFoundError):
        client(modes, "shadow").responses.create(**asked)


def test_calls_of_one_turn_stand_in_one_message() -> None:
    made = [
        {"type": "function_call", "call_id": id, "name": "find", "arguments": "{}"} for id in "ab"
    ]
    outputs = [{"type": "function_call_output", "call_id": id, "output": "x"} for id in "ab"]
    chat = as_chat({"input": [{"role": "user", "content": "Hm?"}, *made, *outputs]})
    assert [one["role"] for one in chat["messages"]] == ["user", "assistant", "tool", "tool"]
    assert [one["id"] for one in chat["messages"][1]["tool_calls"]] == ["a", "b"]


@pytest.mark.parametrize("count", [-5, 2**70, 1.5, "7", None])
def test_a_count_that_cannot_be_one_counts_nothing(count: object) -> None:
    assert usage_of({"usage": {"total_tokens": count}})["total_tokens"] == 0
