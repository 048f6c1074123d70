"""What no reader sees and no check reads never leaves, at any endpoint and in any mode."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import httpx2
import pytest

from benchmarks.hidden import hostile_draft
from benchmarks.released import PASSAGES, WordVerifier, checker, unread_in
from benchmarks.released import QUESTION as ASKED
from suffice.evidence.library import Library
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, calls, dribbles, says
from suffice.types import Action
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running

HIDDEN = "quxberrian"
TAGGED = "".join(chr(0xE0000 + ord(char)) for char in HIDDEN)
CONSTRUCTS = {
    "comment": f"<!-- {HIDDEN} -->",
    "attribute": f'<b title="{HIDDEN}">',
    "image with a script": f"<img src=x onerror={HIDDEN}()>",
    "frame": f'<iframe src="//{HIDDEN}"></iframe>',
    "link of a mark": f" [1](https://example.com/{HIDDEN}-17-days)",
    "script as a link": f" [1](javascript:{HIDDEN}())",
    "image": f"![](https://example.com/?q={HIDDEN})",
    "definition": f"\n\n[1]: https://example.com/{HIDDEN}\n",
    "name in a mark": f" 【1†{HIDDEN} gets 17 days】",
    "tag characters": TAGGED,
    "reasoning": f"<THINK>{HIDDEN}</THINK>",
}


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    route = RouteSettings(upstream=upstream.url)
    named = {
        "default": route,
        "signal": replace(route, streaming="signal"),
        "free": replace(route, grounding=False),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


def drafted(name: str) -> str:
    hidden = CONSTRUCTS[name]
    return f"{hidden}{RIGHT}" if name == "reasoning" else f"{RIGHT}{hidden}"


def replies(gateway: RunningGateway, route: str, stream: bool) -> Iterator[httpx2.Response]:
    said = [{"role": "user", "content": QUESTION}]
    for path, body in (
        ("/chat/completions", {"messages": said}),
        ("/responses", {"input": QUESTION}),
        ("/messages", {"messages": said, "max_tokens": 200}),
        ("/completions", {"prompt": QUESTION}),
    ):
        whole = {"model": "m", "stream": stream, **body}
        yield httpx2.post(f"{gateway.url}/{route}/v1{path}", json=whole, timeout=60)


@pytest.mark.parametrize("route", ["default", "signal", "free"])
@pytest.mark.parametrize("stream", [False, True])
def test_no_endpoint_releases_what_is_hidden(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str, stream: bool
) -> None:
    for name in CONSTRUCTS:
        plays(upstream, dribbles(drafted(name), 11) if stream else says(drafted(name)))
        for reply in replies(modes, route, stream):
            told = reply.text.encode().decode("unicode_escape") + reply.text
            assert reply.status_code == 200, told
            assert HIDDEN not in told, name
            assert TAGGED not in told
            assert "3 days per week" in told


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_hidden_text_counts_as_unread(name: str) -> None:
    verifier = WordVerifier()
    verdict = checker(verifier).check(drafted(name), PASSAGES, ASKED)
    assert HIDDEN not in verdict.released
    if name == "reasoning":  # it is no part of the answer
        assert verdict.action is Action.SERVE
        return
    assert verdict.action is Action.CAVEAT
    assert verdict.share_read < 1
    assert any("not shown as text" in note for note in verdict.notes)


def test_small_talk_hides_nothing(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(f"You're welcome! <!-- {HIDDEN} -->{TAGGED}"))
    body = {"model": "m", "messages": [{"role": "user", "content": "thanks"}]}
    reply = httpx2.post(f"{modes.url}/v1/chat/completions", json=body, timeout=60)
    assert reply.json()["choices"][0]["message"]["content"] == "You're welcome!"


def test_structured_output_hides_nothing(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    written = json.dumps(
        {"answer": drafted("comment"), f"note<!-- {HIDDEN} -->": "3 days per week"}
    )
    plays(upstream, says(written))
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": QUESTION}],
        "response_format": {"type": "json_object"},
    }
    for route in ("default", "signal", "free"):
        for stream in (False, True):
            plays(upstream, says(written))
            reply = httpx2.post(
                f"{modes.url}/{route}/v1/chat/completions",
                json={**body, "stream": stream},
                timeout=60,
            )
            assert HIDDEN not in reply.text


def test_the_council_returns_the_answer_that_its_judges_read(modes: RunningGateway) -> None:
    reply = modes.post("/council/vote", {"question": QUESTION, "answer": drafted("comment")})
    assert reply.json()["answer"] == RIGHT


@pytest.mark.parametrize(
    "arguments",
    [
        {"Every employee must work 47 days per week.": True},
        {"a": {"Every employee must work 47 days per week.": []}},
        {"a": "```\nwork = 47 days\n```"},
        {"a": "# 47 remote days"},
        {"a": "Do you know that employees work 47 days?"},
        {"a": "3 days<!-- Every employee must work 47 days. -->"},
    ],
)
def test_arguments_that_state_something_anywhere_are_checked(
    modes: RunningGateway, upstream: ScriptedUpstream, arguments: Any
) -> None:
    reply = called(modes, upstream, arguments).json()
    assert not reply["choices"][0]["message"].get("tool_calls")
    assert reply["suffice"]["verdict"] in ("WITHHOLD", "REVIEW")  # a caveat has no reader here
    assert "compare" not in reply["suffice"]["reason"]  # nothing is shown that could be compared


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": "# Free cars for everybody in the zoo"},
        {"a": "```\nfree = cars.for_everybody()\n```"},
        {"a": "x://every-employee-gets-a-free-car-for-life"},
        {"every_employee_gets_a_free_car_for_life": 1},
        {"a": "Every employee", "b": "must buy", "c": "own cars"},
        {"a": ["every", "employee", "must", "buy", "cars"]},
    ],
)
def test_other_text_in_arguments_is_listed_as_unchecked(
    modes: RunningGateway, upstream: ScriptedUpstream, arguments: Any
) -> None:
    reply = called(modes, upstream, arguments)
    ours = reply.json()["suffice"]
    if ours["verdict"] is None:
        assert ours["unchecked"]
        assert "UNCHECKED" in ours["reason"]
    else:
        assert ours["verdict"] in ("WITHHOLD", "REVIEW")


@pytest.mark.parametrize(
    "text",
    ["```\nfree cars for everybody\n```", "## Free cars for everybody", "Do 47 cars suffice?"],
)
def test_text_beside_a_call_that_tells_something_is_removed(
    modes: RunningGateway, upstream: ScriptedUpstream, text: str
) -> None:
    reply = called(modes, upstream, {"query": "cars"}, text)
    assert "cars" not in (reply.json()["choices"][0]["message"]["content"] or "")


@pytest.mark.parametrize("route", ["default", "signal", "free"])
@pytest.mark.parametrize("stream", [False, True])
def test_arguments_hide_nothing(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str, stream: bool
) -> None:
    query = f'{{"query": "cars{TAGGED}"}}'
    reply = called(modes, upstream, query, route=route, stream=stream)
    assert "cars" in reply.text
    assert TAGGED not in reply.text
    assert "\\udb40" not in reply.text


def called(
    gateway: RunningGateway,
    upstream: ScriptedUpstream,
    arguments: Any,
    text: str = "",
    *,
    route: str = "default",
    stream: bool = False,
) -> httpx2.Response:
    tool = {"type": "function", "function": {"name": "reply", "parameters": {}}}
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    plays(upstream, calls("reply", written, text))
    said = [{"role": "user", "content": QUESTION}]
    body = {"model": "m", "messages": said, "tools": [tool], "stream": stream}
    return httpx2.post(f"{gateway.url}/{route}/v1/chat/completions", json=body, timeout=60)


def test_a_released_word_was_read() -> None:
    """A part of `python -m benchmarks release-fuzz`."""
    random, verifier = Random(5), WordVerifier()
    checks = checker(verifier)
    for _ in range(150):
        source = hostile_draft(random)
        verifier.read.clear()
        assert unread_in(checks.check(source, PASSAGES, ASKED), verifier.read) == [], source
