"""Small talk is answered without evidence, unless the route is told not to, and states nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from suffice.evidence.library import Library
from suffice.server.openai.ungrounded import is_small_talk
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, calls, says
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running

REPLY = "You're welcome! Let me know if you have other questions."


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    talks = RouteSettings(upstream=upstream.url)
    named = {
        "default": RouteSettings(),
        "documents": replace(talks, small_talk=False),
        "talks": talks,
        "signal": replace(talks, streaming="signal"),
        "titles": RouteSettings(upstream=upstream.url, grounding=False, unverified_note="suffice"),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


def asked(gateway: RunningGateway, route: str, text: str, **more: Any) -> Any:
    client = gateway.client().with_options(base_url=f"{gateway.url}/{route}/v1")
    messages: Any = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="m", messages=messages, **more)


def text_of(parts: Any) -> str:
    return "".join(one.choices[0].delta.content or "" for one in parts if one.choices)


@pytest.mark.parametrize("route", ["default", "documents"])
def test_without_upstream_or_switched_off_it_is_a_question(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    plays(upstream, says(REPLY))
    assert asked(modes, route, "thanks").suffice["verdict"] == "WITHHOLD"
    assert upstream.requests == []


def test_small_talk_is_answered_by_the_upstream(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(REPLY))
    tools: Any = [{"type": "function", "function": {"name": "find", "parameters": {}}}]
    answer = asked(modes, "talks", "thanks", tools=tools)
    assert "tools" not in upstream.requests[0]
    assert upstream.requests[0]["messages"] == [{"role": "user", "content": "thanks"}]
    assert answer.choices[0].message.content == REPLY
    ours = answer.suffice
    assert (ours["turn"], ours["verdict"], ours["sources"]) == ("small_talk", "CAVEAT", [])
    assert "without documents" in ours["reason"]
    assert ours["record"]
    for route in ("talks", "signal"):
        assert text_of(asked(modes, route, "Hello!", stream=True)) == REPLY


def test_a_reply_to_small_talk_states_nothing(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    lie = "You may work remotely 12 days per week."
    plays(upstream, says(f"Hello! {lie} How can I help you?"))
    for route in ("talks", "signal"):
        answer = asked(modes, route, "Hello!")
        assert answer.choices[0].message.content == "Hello! How can I help you?"
        assert answer.suffice["rescue"] == "trimmed"
        assert "12 days" not in answer.model_dump_json()
        assert "12 days" not in text_of(asked(modes, route, "Hello!", stream=True))
    plays(upstream, says(lie))
    held = asked(modes, "talks", "Hello!")
    assert (held.suffice["verdict"], held.suffice["turn"]) == ("WITHHOLD", "small_talk")
    assert "12 days" not in held.model_dump_json()
    plays(upstream, calls("find", '{"q": "12 days"}', "Hello!"))
    assert asked(modes, "talks", "Hello!").choices[0].message.tool_calls is None


def test_a_question_is_no_small_talk(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(RIGHT))
    answer = asked(modes, "talks", f"Hello! {QUESTION}")
    assert "turn" not in answer.suffice
    assert answer.suffice["sources"]


@pytest.mark.parametrize("text", ["Hello!", "thanks", "Good morning", "How are you?", "Bye!"])
def test_nothing_is_left_to_search_for(text: str) -> None:
    assert is_small_talk([{"role": "user", "content": text}])


@pytest.mark.parametrize(
    "text",
    ["", "leave", "Hello! Pay day?", "What is 2 + 2?", "假期", "Hi, who is king?", "hi " * 99],
)
def test_everything_else_is_a_question(text: str) -> None:
    assert not is_small_talk([{"role": "user", "content": text}])


def test_a_follow_up_without_content_words_asks_about_the_turn_before() -> None:
    first = {"role": "user", "content": QUESTION}
    assert not is_small_talk([first, {"role": "user", "content": "Why?"}])
    assert is_small_talk([first, {"role": "user", "content": "Thank you!"}])


def test_the_note_can_stay_out_of_a_title(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says("Remote work days"))
    answer = asked(modes, "titles", "Write a title.")
    assert answer.choices[0].message.content == "Remote work days"
    assert "Unverified" in answer.suffice["reason"]
    assert text_of(asked(modes, "titles", "Write a title.", stream=True)) == "Remote work days"
