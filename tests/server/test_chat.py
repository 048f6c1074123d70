"""Chat completions through the gateway, as the official SDK sees them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from suffice.evidence.library import Library
from suffice.log.decision import decision_of
from suffice.settings import (
    CollectionSettings,
    CoverageSettings,
    DraftSettings,
    GateSettings,
    RouteSettings,
    VerdictSettings,
)
from suffice.testing import Scripted, ScriptedUpstream, calls, says, slow
from suffice.types import Action
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

TOOLS: Any = [{"type": "function", "function": {"name": "find", "parameters": {}}}]
BODY: Any = {"messages": [{"role": "user", "content": QUESTION}]}
CARRIED = {"suffice": {"evidence": [PASSAGE], "from": "request"}}


def test_a_right_draft_leaves_with_what_was_decided(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    reply = gateway.client().chat.completions.with_raw_response.create(
        model="any", messages=[{"role": "user", "content": QUESTION}]
    )
    answer = reply.parse()
    said = answer.choices[0].message.content
    assert said is not None
    assert said.startswith(RIGHT)
    assert answer.choices[0].finish_reason == "stop"
    ours: Any = answer.model_extra
    assert ours["suffice"]["verdict"] == "SERVE"
    assert ours["suffice"]["share_read"] == 1.0
    assert ours["suffice"]["sources"][0]["document"] == "remote-work.md"
    claim = ours["suffice"]["claims"][0]
    assert claim["support"] == "BACKED"
    assert said[slice(*claim["span"])] == claim["text"]
    assert claim["evidence"]["quote"] in claim["text"]
    assert set(ours["sufficiency"]) >= {"score", "level", "factors"}
    assert reply.headers["x-suffice-verdict"] == ours["suffice"]["verdict"]
    assert reply.headers["x-suffice-record"] == ours["suffice"]["record"]
    assert answer.usage is not None
    assert answer.usage.total_tokens > 0


def test_an_answer_without_doubt_is_the_draft_itself(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(SERVED))
    answer = gateway.chat(extra_body=CARRIED)
    assert answer.choices[0].message.content == SERVED
    assert answer.suffice["verdict"] == "SERVE"


def test_all_drafts_of_an_answer_share_one_time_limit(
    library: Library, upstream: ScriptedUpstream
) -> None:
    """A second draft as slow as the first does not fit, so it is not requested."""
    plays(upstream, slow(WRONG, wait=2.4), says(RIGHT))
    draft = DraftSettings(total_seconds=4.0, retries=0)
    route = RouteSettings(upstream=upstream.url, own=CollectionSettings(draft=draft))
    with running(library, routes(route)) as gateway:
        gateway.chat()
    assert len(upstream.requests) == 1


def test_the_first_draft_has_the_same_time_limit(
    library: Library, upstream: ScriptedUpstream
) -> None:
    plays(upstream, slow(RIGHT, wait=PATIENCE))
    own = CollectionSettings(
        draft=DraftSettings(total_seconds=0.3, retries=0), verdict=VerdictSettings(rescue=False)
    )
    with running(library, routes(RouteSettings(upstream=upstream.url, own=own))) as gateway:
        body = {"messages": [{"role": "user", "content": QUESTION}]}
        reply = gateway.post("/chat/completions", body)
    assert reply.status_code == 504
    assert "draft.total_seconds" in reply.json()["error"]["message"]


def test_a_wrong_draft_never_leaves(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(WRONG))
    answer = gateway.chat()
    assert "4 days" not in answer.choices[0].message.content
    assert len(upstream.requests) == 2  # revised once
    assert "4 days" in upstream.requests[1]["messages"][-2]["content"]
    assert answer.suffice["rescue"] is None  # what the checks refute is not quoted instead


def test_what_is_withheld_is_an_ordinary_completion(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    answer = gateway.chat(OFF_TOPIC)
    assert upstream.requests == []  # the gate is closed: no model is called
    assert answer.choices[0].finish_reason == "stop"
    assert "could not find an answer to this" in answer.choices[0].message.content
    assert "No document matches" in answer.suffice["reason"]
    assert answer.suffice["verdict"] == "WITHHOLD"
    assert answer.sufficiency["level"] == "insufficient"
    assert answer.usage.total_tokens == 0


def test_the_record_is_there_before_the_answer(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    answer = gateway.chat(extra_body={"suffice": {"tag": "ticket-7"}})
    assert gateway.inner.log is not None
    entry = gateway.inner.log.entry(answer.suffice["record"])
    decided = decision_of(entry)
    assert decided.verdict is not None
    assert decided.verdict.action.value == answer.suffice["verdict"]
    assert (entry.caller, entry.tag) == ("anyone", "ticket-7")


def test_async(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(RIGHT))

    async def asked() -> list[str]:
        async with gateway.async_client() as client:
            found = [
                client.chat.completions.create(
                    model="any", messages=[{"role": "user", "content": QUESTION}]
                )
                for _ in range(3)
            ]
            return [one.choices[0].message.content or "" for one in await asyncio.gather(*found)]

    assert all(RIGHT in said for said in asyncio.run(asked()))


def test_unknown_fields_pass_both_ways(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    body = {
        "id": "x1",
        "model": "m",
        "service_tier": "scale",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": SERVED, "mood": "calm"},
                "finish_reason": "stop",
                "logprobs": {"content": []},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3, "cached": 9},
    }
    plays(upstream, Scripted(body=json.dumps(body).encode()))
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages: Any = [{"role": "user", "content": [{"type": "text", "text": QUESTION}, image]}]
    answer: Any = gateway.client().chat.completions.create(
        model="any", messages=messages, temperature=0.3, extra_body={**CARRIED, "top_k": 7}
    )
    sent = upstream.requests[0]
    assert (sent["top_k"], sent["temperature"]) == (7, 0.3)
    assert "suffice" not in sent
    assert sent["messages"][-1]["content"][1] == image
    assert answer.service_tier == "scale"
    assert answer.choices[0].message.mood == "calm"
    assert answer.usage.cached == 9
    assert answer.choices[0].logprobs is not None


def test_what_nobody_checked_does_not_ride_along(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    thought = {"reasoning_content": "Surely it is 12 days.", "mood": "calm"}
    plays(upstream, Scripted(WRONG, message=thought))
    answer = gateway.chat(extra_body=CARRIED)
    assert "12 days" not in answer.model_dump_json()
    assert "calm" not in answer.model_dump_json()  # it belongs to a text that was withheld
    plays(upstream, Scripted(SERVED, message=thought))
    answer = gateway.chat(extra_body=CARRIED)
    assert "12 days" not in answer.model_dump_json()


def test_a_verdict_for_each_choice(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(SERVED, "You may work remotely 5 days per week. [1]"), says(SERVED))
    answer = gateway.chat(n=2, extra_body=CARRIED)
    assert upstream.requests[0]["n"] == 2
    assert [one.index for one in answer.choices] == [0, 1]
    assert answer.choices[0].suffice["verdict"] == "SERVE"
    assert all("5 days" not in one.message.content for one in answer.choices)
    assert answer.choices[0].suffice["record"] != answer.choices[1].suffice["record"]
    refused = gateway.chat(OFF_TOPIC, n=3)
    assert len(refused.choices) == 3


def test_a_tool_call_goes_on_and_is_marked(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, calls("find", '{"q": 1}', "It is 9 days."))
    answer = gateway.chat(tools=TOOLS)
    choice = answer.choices[0]
    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls[0].function.arguments == '{"q": 1}'
    assert choice.message.content is None
    assert (answer.suffice["verdict"], answer.suffice["turn"]) == (None, "tool_calls")
    assert gateway.inner.log is not None
    assert gateway.inner.log.entry(answer.suffice["record"]).kind == "gate"
    assert answer.suffice["gate"]["level"].lower() == answer.sufficiency["level"]


def test_tools_may_bring_what_the_gate_misses(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, calls("find", "{}"))
    assert gateway.chat(OFF_TOPIC, tools=TOOLS).choices[0].finish_reason == "tool_calls"
    plays(upstream, says("France won the world cup in 1998."))
    answer = gateway.chat(OFF_TOPIC, tools=TOOLS)  # the model answers instead: not released
    assert answer.suffice["verdict"] == "WITHHOLD"
    assert "France" not in answer.choices[0].message.content
    plays(upstream, says("France won the world cup in 1998. [1]"))
    messages: Any = [
        {"role": "user", "content": OFF_TOPIC},
        {"role": "assistant", "content": None, "tool_calls": [_call()]},
        {"role": "tool", "tool_call_id": "c1", "content": "France won the world cup in 1998."},
    ]
    brought: Any = gateway.client().chat.completions.create(
        model="any", messages=messages, tools=TOOLS
    )
    assert brought.suffice["verdict"] == "SERVE"
    assert "France" in brought.choices[0].message.content


def _call() -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}


def test_a_format_is_never_broken(gateway: RunningGateway, upstream: ScriptedUpstream) -> None:
    shape: Any = {"type": "json_object"}
    right = json.dumps({"answer": "Eligible employees may work remotely up to 3 days per week."})
    plays(upstream, says(right))
    answer = gateway.chat(response_format=shape)
    assert answer.choices[0].message.content == right
    assert "[1]" in upstream.requests[0]["messages"][0]["content"]
    plays(upstream, says(right.replace("3 days", "6 days")))
    held = gateway.chat(response_format=shape)
    assert held.choices[0].message.content is None
    assert "could not confirm" in held.choices[0].message.refusal
    assert "contradict" in held.suffice["reason"]
    assert held.suffice["verdict"] == "WITHHOLD"
    assert gateway.chat(OFF_TOPIC, response_format=shape).choices[0].message.refusal


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": f"Be kind.\n\n<context>\n{PASSAGE}\n</context>"}],
        [{"role": "system", "content": f"[1] {PASSAGE}\n[2] Lunch is at noon."}],
        [{"role": "tool", "tool_call_id": "c1", "content": PASSAGE}],
    ],
)
def test_evidence_in_the_conversation(
    gateway: RunningGateway, upstream: ScriptedUpstream, messages: Any
) -> None:
    plays(upstream, says(SERVED))
    answer: Any = gateway.client().chat.completions.create(
        model="any",
        messages=[*messages, {"role": "user", "content": QUESTION}],
        extra_body={"suffice": {"from": "request"}},
    )
    assert answer.suffice["verdict"] == "SERVE"
    assert SERVED in (answer.choices[0].message.content or "")


def test_a_follow_up_is_read_with_the_turn_before(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    messages: Any = [
        {"role": "user", "content": "How long is parental leave?"},
        {"role": "assistant", "content": "It is 18 weeks."},
        {"role": "user", "content": "And for part-time staff?"},
    ]
    answer: Any = gateway.client().chat.completions.create(model="any", messages=messages)
    assert answer.suffice["question"] == "How long is parental leave? And for part-time staff?"


def test_without_declining_a_draft_is_checked_all_the_same(
    library: Library, upstream: ScriptedUpstream
) -> None:
    gate = GateSettings(policy="coverage", coverage=CoverageSettings(sufficient=1.0, partial=0.99))
    lenient = replace(gate, coverage=replace(gate.coverage, decline_insufficient=False))
    for own, asked in ((gate, 0), (lenient, 1)):
        settings = CollectionSettings(gate=own, verdict=VerdictSettings(rescue=False))
        route = RouteSettings(upstream=upstream.url, own=settings)
        plays(upstream, says(RIGHT))
        with running(library, routes(route)) as gateway:
            answer = gateway.chat()
        assert len(upstream.requests) == asked
        assert answer.suffice["verdict"] == ("CAVEAT" if asked else "WITHHOLD")


def test_chat_without_documents_says_that_it_is_unverified(
    library: Library, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says("The moon is made of cheese."))
    route = RouteSettings(upstream=upstream.url, grounding=False)
    with running(library, routes(route)) as gateway:
        answer = gateway.chat(OFF_TOPIC)
        streamed = "".join(
            part.choices[0].delta.content or ""
            for part in gateway.chat(OFF_TOPIC, stream=True)
            if part.choices
        )
    assert upstream.requests[0]["messages"] == [{"role": "user", "content": OFF_TOPIC}]
    for said in (answer.choices[0].message.content, streamed):
        assert said.startswith("The moon is made of cheese.")
        assert "Unverified" in said
    assert answer.suffice["verdict"] == "CAVEAT"
    assert answer.suffice["share_read"] == 0.0
    assert answer.suffice["record"]


def test_shadow_changes_nothing_and_records(library: Library, upstream: ScriptedUpstream) -> None:
    thought = {"reasoning_content": "hm"}
    plays(upstream, Scripted(WRONG, message=thought))
    route = RouteSettings(upstream=upstream.url, shadow=True)
    with running(library, routes(route)) as gateway:
        body = {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}
        reply = gateway.post("/chat/completions", body)
        streamed = gateway.post("/chat/completions", {**body, "stream": True})
        events = streamed.text
        assert gateway.inner.log is not None
        decided = decision_of(gateway.inner.log.entry(reply.headers["x-suffice-record"]))
    assert upstream.requests[0] == body
    assert reply.json()["choices"][0]["message"]["content"] == WRONG
    assert "suffice" not in reply.json()
    assert "suffice" not in events
    assert "hm" in events
    assert reply.headers["x-suffice-shadow"] == "true"
    assert streamed.headers["x-suffice-shadow"] == "true"
    assert decided.verdict is not None
    assert decided.verdict.action is Action.WITHHOLD


def test_models_are_mapped_and_others_refused(library: Library, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(RIGHT))
    named = {
        "default": RouteSettings(upstream=upstream.url, models={"small": "llama-1b"}),
        "big": RouteSettings(upstream=upstream.url, models={"large": "llama-70b"}),
        "quoting": RouteSettings(),
    }
    with running(library, routes(named)) as gateway:
        body = {"messages": [{"role": "user", "content": QUESTION}]}
        asked = {
            name: gateway.post("/chat/completions", {**body, "model": name}).status_code
            for name in ("small", "large", "gpt-9")
        }
        models = [one.id for one in gateway.client().models.list()]
        other = gateway.client(default_headers={}).with_options(
            base_url=f"{gateway.url}/quoting/v1"
        )
        quoted: Any = other.chat.completions.create(
            model="any", messages=[{"role": "user", "content": QUESTION}]
        )
    assert asked == {"small": 200, "large": 200, "gpt-9": 404}
    assert [sent["model"] for sent in upstream.requests] == ["llama-1b", "llama-70b"]
    assert models == ["small", "large", "suffice-extractive"]
    assert "3 days per week" in (quoted.choices[0].message.content or "")


def test_what_an_upstream_says_of_a_request_is_told_without_its_address(
    gateway: RunningGateway, upstream: ScriptedUpstream
) -> None:
    error = {"error": {"message": "too many", "param": "max_tokens", "code": "too_big"}}
    plays(upstream, Scripted(status=400, body=json.dumps(error).encode()))
    reply = gateway.post("/chat/completions", BODY)
    assert reply.status_code == 400
    told = reply.json()["error"]
    assert (told["param"], told["code"]) == ("max_tokens", "too_big")
    assert "too many" not in reply.text
    assert upstream.url not in reply.text


def test_a_writer_of_plain_text_is_asked_for_no_format(library: Library) -> None:
    with running(library, routes(RouteSettings(upstream="extractive"))) as gateway:
        for stream in (False, True):
            body = {**BODY, "response_format": {"type": "json_object"}, "stream": stream}
            reply = gateway.post("/chat/completions", body)
            assert (reply.status_code, reply.json()["error"]["param"]) == (400, "response_format")
