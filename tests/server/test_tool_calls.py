"""Answers in the arguments of tool calls are checked, and only offered tools are called."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from openai import BadRequestError

from suffice.evidence.library import Library
from suffice.server.openai.tool_calls import (
    Known,
    Offer,
    number_in,
    offer_of,
    only_offered,
    stated_in,
    states,
)
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import Scripted, ScriptedUpstream, calls, says
from tests.server.events import piece, said, sends
from tests.server.gateway import OFF_TOPIC, QUESTION, RIGHT, RunningGateway, plays, routes, running

TRUE = "Eligible employees may work remotely up to 3 days per week."
LIE = TRUE.replace("3 days", "12 days")
SECRET = "12 days"
OWN = CollectionSettings(
    draft=DraftSettings(revisions=0, retries=0), verdict=VerdictSettings(rescue=False)
)
TOOLS: Any = [{"type": "function", "function": {"name": "reply", "parameters": {}}}]
FORCED: Any = {"type": "function", "function": {"name": "reply"}}
LEGACY: Any = [{"name": "reply", "parameters": {}}]


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    checks = RouteSettings(upstream=upstream.url, own=OWN)
    named = {
        "default": checks,
        "signal": replace(checks, streaming="signal"),
        "passes": replace(checks, tools="pass"),
        "refuses": replace(checks, tools="refuse"),
        "free": replace(checks, grounding=False),
        "rescues": RouteSettings(upstream=upstream.url),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


def asked(gateway: RunningGateway, route: str = "default", **more: Any) -> Any:
    client = gateway.client().with_options(base_url=f"{gateway.url}/{route}/v1")
    question = more.pop("question", QUESTION)
    messages: Any = [{"role": "user", "content": question}]
    return client.chat.completions.create(model="m", messages=messages, **more)


def calls_legacy(arguments: str) -> Scripted:
    call = {"name": "reply", "arguments": arguments}
    return Scripted("", finish="function_call", message={"function_call": call})


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_in_arguments_is_checked(
    modes: RunningGateway, upstream: ScriptedUpstream, stream: bool
) -> None:
    for text, released in ((TRUE, True), (LIE, False)):
        arguments = json.dumps({"parts": [{"answer": text, "lang": "en"}], "n": 1})
        scripts = [
            (calls("reply", arguments), {"tools": TOOLS}),
            (calls("reply", arguments), {"tools": TOOLS, "tool_choice": FORCED}),
            (calls_legacy(arguments), {"functions": LEGACY}),
        ]
        for script, offer in scripts:
            plays(upstream, script)
            reply = asked(modes, stream=stream, **offer)
            told = [one.model_dump() for one in reply] if stream else [reply.model_dump()]
            ours = told[-1]["suffice"]
            assert (SECRET not in json.dumps(told)) or released
            assert ("arguments" in json.dumps(told)) is released
            assert ours["turn"] == "tool_calls"
            field = "*" if "tool_choice" in offer else "parts[0].answer"
            assert ours["checked"] == [{"tool": "reply", "fields": [field]}]
            assert (ours["verdict"] in ("SERVE", "CAVEAT")) is released
            finishes = {one["finish_reason"] for part in told for one in part["choices"]}
            assert finishes & {"tool_calls", "function_call"} if released else "stop" in finishes


@pytest.mark.parametrize("stream", [False, True])
def test_the_responses_api_checks_arguments_too(
    modes: RunningGateway, upstream: ScriptedUpstream, stream: bool
) -> None:
    tool = {"type": "function", "name": "reply", "parameters": {"type": "object"}}
    for text, released in ((TRUE, True), (LIE, False)):
        plays(upstream, calls("reply", json.dumps({"answer": text})))
        body = {"model": "m", "input": QUESTION, "tools": [tool], "stream": stream}
        told = modes.post("/responses", body).text
        assert ('"function_call"' in told) is released
        assert SECRET not in told


def test_what_states_nothing_is_passed_on(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    for query in ("remote work policy", "How many days may I work remotely?", "Berlin", OFF_TOPIC):
        plays(upstream, calls("reply", json.dumps({"query": query, "top": 5})))
        answer = asked(modes, tools=TOOLS, question=OFF_TOPIC)
        assert answer.choices[0].message.tool_calls[0].function.name == "reply"
        assert (answer.suffice["verdict"], answer.suffice["checked"]) == (None, [])
        # An identifier, or what the conversation says already, adds nothing.
        unchecked = [] if query in ("Berlin", OFF_TOPIC) else ["reply.query"]
        assert answer.suffice.get("unchecked", []) == unchecked
        assert ("UNCHECKED" if unchecked else "nothing to check") in answer.suffice["reason"]
    plays(upstream, calls("reply", json.dumps({"answer": LIE})))
    shut = asked(modes, tools=TOOLS, question=OFF_TOPIC)  # no evidence for what it states
    assert shut.suffice["verdict"] == "WITHHOLD"
    assert SECRET not in shut.model_dump_json()


def test_a_bare_number_that_answers_is_checked_and_others_are_named(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    """An unforced call: 3 is in the evidence, 12 and 77 are in neither evidence nor question."""
    for arguments, checked in (
        ({"days_per_week": 12}, ["days_per_week"]),
        ({"employee": {"remoteDays": "12"}}, ["employee.remoteDays"]),
        ({"days": [3, 12]}, ["days[1]"]),
    ):
        plays(upstream, calls("reply", json.dumps(arguments)))
        told = asked(modes, tools=TOOLS)
        assert told.suffice["checked"] == [{"tool": "reply", "fields": checked}]
        assert told.suffice["verdict"] in ("WITHHOLD", "REVIEW")
        assert told.choices[0].message.tool_calls is None
    plays(upstream, calls("reply", json.dumps({"days_per_week": 3, "top": 77, "all": True})))
    told = asked(modes, tools=TOOLS)
    assert told.choices[0].message.tool_calls
    assert (told.suffice["verdict"], told.suffice["checked"]) == (None, [])
    (note,) = told.suffice["notes"]
    assert "'reply.top'" in note
    assert "days_per_week" not in note


@pytest.mark.parametrize("route", ["default", "signal", "free", "passes"])
@pytest.mark.parametrize("stream", [False, True])
def test_calls_to_tools_that_were_not_offered_are_dropped(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str, stream: bool
) -> None:
    arguments = json.dumps({"answer": LIE})
    call = {"index": 0, "id": "c", "function": {"name": "other", "arguments": arguments}}
    legacy = {"name": "other", "arguments": arguments}
    streamed = stream and route in ("signal", "free")
    if streamed:
        rest = piece({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]})
        deltas = {"tool_calls": [call], "function_call": legacy}
        plays(upstream, sends(*said(RIGHT), piece(deltas), rest, piece({}, "tool_calls")))
    else:
        more = {"tool_calls": [call], "function_call": legacy}
        plays(upstream, Scripted(RIGHT, finish="tool_calls", message=more))
    offers = ({},) if route == "signal" else ({}, {"tools": TOOLS})
    for offer in offers:
        reply = asked(modes, route, stream=stream, **offer)
        told = [one.model_dump() for one in reply] if stream else [reply.model_dump()]
        dump = json.dumps(told)
        assert SECRET not in dump
        assert RIGHT[:20] in dump
        ends = [one["finish_reason"] for part in told for one in part["choices"]]
        assert ends[-1] == "stop"
        if not (stream and route == "free"):
            assert any("does not offer" in one for one in told[-1]["suffice"]["notes"])


def test_nothing_is_left_of_a_reply_that_only_calls_another_tool(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, calls("other", json.dumps({"answer": LIE})))
    answer = asked(modes, "rescues")
    assert answer.suffice["rescue"] == "extractive"
    assert SECRET not in answer.model_dump_json()


def test_a_route_may_pass_or_refuse_tools(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, calls("reply", json.dumps({"answer": LIE})))
    passed = asked(modes, "passes", tools=TOOLS)
    assert SECRET in passed.choices[0].message.tool_calls[0].function.arguments
    assert passed.suffice["verdict"] is None
    assert "not checked" in passed.suffice["reason"]
    for offer in ({"tools": TOOLS}, {"functions": LEGACY}):
        with pytest.raises(BadRequestError, match="accepts no tools"):
            asked(modes, "refuses", **offer)
    plays(upstream, says(RIGHT))
    assert asked(modes, "refuses").suffice["verdict"] in ("SERVE", "CAVEAT")


@pytest.mark.parametrize(
    "text", ["remote work policy", "2026-01-01", "a@b.org", "How long is leave?", "10", ""]
)
def test_names_and_queries_state_nothing(text: str) -> None:
    assert not states(text)


@pytest.mark.parametrize("text", ["12 days", LIE, "5 %", "Paris is the capital", '"so it is (not'])
def test_sentences_and_quantities_state_something(text: str) -> None:
    assert states(text)


def test_arguments_of_any_form_are_read() -> None:
    twice = f'{{"a": "{LIE}", "a": "Berlin"}}'
    deep = "[" * 90 + json.dumps(LIE) + "]" * 90
    for arguments in (twice, LIE, {"a": LIE}, f'{{"a": "{LIE}', deep, json.dumps({LIE: LIE})):
        call = {"id": LIE, "function": {"name": "reply", "arguments": arguments}, "note": LIE}
        raw = {"choices": [{"message": {"tool_calls": [call, None, "x"]}}]}
        kept, dropped = only_offered(raw, Offer(frozenset({"reply"})))
        assert dropped == 2
        (one,) = kept["choices"][0]["message"]["tool_calls"]
        assert LIE not in one["id"] + str(one.get("note"))
        found = stated_in(kept["choices"][0], Offer(frozenset({"reply"})), Known())
        assert found.texts
        assert LIE not in str(found.fields)
    custom = {"id": "c", "type": "custom", "custom": {"name": "sh", "input": LIE}}
    body = {"tools": [{"type": "custom", "custom": {"name": "sh"}}], "tool_choice": "required"}
    assert offer_of(body) == Offer(frozenset({"sh"}), forced=True)
    assert offer_of({**body, "tool_choice": "none"}) == Offer()
    assert stated_in({"message": {"tool_calls": [custom]}}, offer_of(body), Known()).texts == (LIE,)


def test_a_number_is_known_only_with_its_sign_and_size() -> None:
    known = Known.of("How many euros?", ["The fee is 1,500 euros, the rate 1,5 %."])
    assert known.has(Decimal(1500))
    assert not known.has(Decimal(-1500))
    assert not known.has(Decimal(15))
    assert number_in("1e999999999999") is None
