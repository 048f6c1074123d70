"""Streams: no unchecked text in buffer mode, and the same verdict in both modes."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.hidden import PIECES
from suffice.evidence.inputs import given as read_given
from suffice.evidence.library import Library
from suffice.server.openai.reply import drafts_in
from suffice.server.openai.streamed_reply import StreamedChoice
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import ScriptedUpstream, calls, says, slow, streams
from suffice.types import Claim, Passage
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
from tests.waiting import PATIENCE, until


def given_passages(texts: list[str]) -> tuple[Passage, ...]:
    return tuple(one.passage for one in read_given(texts))


AS_DRAFTED = CollectionSettings(
    draft=DraftSettings(revisions=0, retries=0), verdict=VerdictSettings(rescue=False)
)


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    buffer = RouteSettings(upstream=upstream.url, own=AS_DRAFTED, show_withheld=True)
    named = {"default": buffer, "signal": replace(buffer, streaming="signal")}
    with running(library, routes(named, keep_alive_seconds=0.2)) as gateway:
        yield gateway


def stream(
    gateway: RunningGateway, route: str = "signal", question: str = QUESTION, **more: Any
) -> Any:
    client = gateway.client().with_options(base_url=f"{gateway.url}/{route}/v1")
    messages: Any = [{"role": "user", "content": question}]
    return client.chat.completions.create(model="any", messages=messages, stream=True, **more)


def text(parts: Any) -> str:
    return "".join(part.choices[0].delta.content or "" for part in parts if part.choices)


def test_nothing_is_sent_before_the_verdict(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(WRONG))
    parts = list(stream(modes, "default", stream_options={"include_usage": True}))
    assert "4 days per week. [1]" not in text(parts)
    last = parts[-2]
    assert last.choices[0].finish_reason == "stop"
    assert last.suffice["verdict"] == "WITHHOLD"
    assert last.suffice["record"]
    assert parts[-1].usage.total_tokens > 0
    assert parts[-1].choices == []
    assert upstream.requests[0]["stream"] is False


@pytest.mark.parametrize("route", ["default", "signal"])
def test_a_waiting_stream_is_kept_open(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    plays(upstream, slow(RIGHT, wait=1.0))
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    url = f"{modes.url}/{route}/v1/chat/completions"
    with httpx2.stream("POST", url, json=body, timeout=PATIENCE) as reply:
        lines = list(reply.iter_lines())
    assert lines.count(": keep-alive") >= 2
    assert lines.index(": keep-alive") < next(n for n, li in enumerate(lines) if "data:" in li)
    assert lines[-2] == "data: [DONE]" or "data: [DONE]" in lines


def test_tokens_flow_and_the_end_says_verified(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(f"{RIGHT} Thursday is the anchor day. [1]"))
    parts = list(stream(modes))
    assert text(parts).startswith(f"{RIGHT} Thursday is the anchor day. [1]")
    said = [part for part in parts if part.choices and part.choices[0].delta.content]
    assert len(said) > 10
    assert "Sources verified" in said[-1].choices[0].delta.content
    assert parts[-1].choices[0].finish_reason == "stop"
    assert parts[-1].suffice["record"]
    assert all(part.choices[0].finish_reason is None for part in parts[:-1])


def test_a_retraction_leaves_before_the_upstream_has_finished(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    go_on = threading.Event()
    plays(upstream, streams(f"{WRONG} ", "Thursday is ", "the anchor day. [1]", hold=(2, go_on)))
    seen = ""
    for part in stream(modes):
        seen += part.choices[0].delta.content or ""
        ours = getattr(part, "suffice", None) or {}
        if "retraction" in ours:
            assert not go_on.is_set()
            start, end = ours["retraction"]["span"]
            assert seen[start:end] == WRONG.removesuffix(" [1]")
            assert part.choices[0].delta.content is None
            go_on.set()
    assert go_on.is_set()
    assert "Some claims could not be verified" in seen


def test_the_last_sentence_is_retracted_too(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    """No text follows the last sentence, so only the verdict shows that it is over."""
    for said in (WRONG, f"{RIGHT} {WRONG}", WRONG.replace(". [1]", " [1]")):
        plays(upstream, streams(*(said[at : at + 7] for at in range(0, len(said), 7))))
        parts = list(stream(modes))
        told = [one for part in parts if (one := getattr(part, "suffice", None) or {})]
        retracted = [one["retraction"] for one in told if "retraction" in one]
        spans = [said[slice(*one["span"])] for one in retracted]
        assert spans == [one["text"] for one in retracted]
        assert ["4 days" in one for one in spans] == [True]


def test_named_events_only_on_request(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    body = {"stream": True, "messages": [{"role": "user", "content": QUESTION}]}
    for wanted in (False, True):
        plays(upstream, says(f"{WRONG} Thursday is the anchor day. [1]"))
        url = f"{modes.url}/signal/v1/chat/completions"
        sent = {**body, "suffice": {"events": wanted}}
        lines = httpx2.post(url, json=sent, timeout=PATIENCE).text
        assert ("event: suffice.retraction" in lines) is wanted


def test_a_shut_gate_holds_in_any_mode(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, says("France won."))
    for route in ("default", "signal"):
        parts = list(stream(modes, route, OFF_TOPIC))
        assert "could not find an answer to this" in text(parts)
        assert parts[-1].suffice["verdict"] == "WITHHOLD"
    assert upstream.requests == []


def test_a_tool_call_streams_in_any_mode(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    tools = [{"type": "function", "function": {"name": "find", "parameters": {}}}]
    for route in ("default", "signal"):
        plays(upstream, calls("find", '{"a": 1}'))
        parts = list(stream(modes, route, tools=tools))
        made = [one for p in parts for one in p.choices[0].delta.tool_calls or ()]
        assert made[0].function.arguments == '{"a": 1}'
        assert parts[-1].choices[0].finish_reason == "tool_calls"
        assert parts[-1].suffice["turn"] == "tool_calls"


def test_thoughts_are_not_streamed(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    plays(upstream, replace(says(RIGHT), message={"reasoning_content": "maybe 12 days"}))
    assert "12 days" not in json.dumps([part.model_dump() for part in stream(modes)])


@pytest.mark.parametrize("mode", ["plain", "default", "signal"])
def test_who_goes_away_cancels_the_call(
    modes: RunningGateway, upstream: ScriptedUpstream, mode: str
) -> None:
    never = threading.Event()
    plays(upstream, replace(streams("Eligible ", "employees"), hold=(1, never)))
    route = "default" if mode == "plain" else mode
    url = f"{modes.url}/{route}/v1/chat/completions"
    body = {"messages": [{"role": "user", "content": QUESTION}], "stream": mode != "plain"}
    if mode == "plain":
        asking = socket.create_connection(("127.0.0.1", int(modes.url.rpartition(":")[2])))
        data = json.dumps(body).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(data)}"
        )
        asking.sendall(f"{head}\r\nContent-Type: application/json\r\n\r\n".encode() + data)
        until(lambda: upstream.requests)
        asking.close()
    else:
        with httpx2.stream("POST", url, json=body, timeout=PATIENCE) as reply:
            for _ in reply.iter_lines():  # comments, or the first text
                if upstream.requests:
                    break
    assert upstream.left.wait(PATIENCE)
    until(lambda: modes.inner.work.under_way == 0)


SENTENCES = st.sampled_from(
    [
        RIGHT,
        WRONG,
        "Thursday is the anchor day. [1]",
        "The moon is made of cheese. [2]",
        "Remote days that are not used lapse at the end of the week. [1]",
        "This is so, e.g. on 3.5 days. [9]",
        "- Ask your manager.\n- Wait!",
        "The passages do not answer the question.",
        "<think>Is it 12 days?</think> ",
    ]
)


def cut_up(text: str, cuts: set[int]) -> list[str]:
    places = sorted(cut for cut in cuts if 0 < cut < len(text))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]


@given(
    drafted=st.one_of(
        st.lists(SENTENCES, min_size=1, max_size=6).map(" ".join),
        st.lists(st.sampled_from(PIECES), max_size=20).map("".join),
        st.text(),
    ),
    cuts=st.sets(st.integers(0, 300)),
)
def test_any_chunking_makes_the_same_draft(drafted: str, cuts: set[int]) -> None:
    passages = given_passages(["Eligible employees may work remotely up to 3 days per week."])
    streamed_choice, looked = StreamedChoice(0), list[Claim]()
    for piece in cut_up(drafted, cuts):
        streamed_choice.hear({"index": 0, "delta": {"content": piece}})
        grown, draft = streamed_choice.grown, streamed_choice.finished(passages)
        assert grown or draft is None
        if draft:
            for claim in draft.claims:
                assert draft.text[claim.start : claim.end] == claim.text
                assert streamed_choice.text[claim.start : claim.end] == claim.text
            looked += draft.claims
    streamed_choice.hear({"index": 0, "delta": {}, "finish_reason": "stop"})
    streamed_choice.flush()
    whole = {"model": "m", "choices": [{"message": {"content": drafted}, "finish_reason": "stop"}]}
    (held_back,) = drafts_in(whole, passages, most=100_000)
    told = streamed_choice.drafted(passages, "m")
    assert told.draft == held_back.draft
    assert told.draft is not None
    assert streamed_choice.text.strip() == told.draft.text
    assert len(looked) == len(set(looked))  # no claim is reported twice


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    drafted=st.lists(SENTENCES, min_size=1, max_size=3).map(" ".join),
    cuts=st.sets(st.integers(0, 150), max_size=8),
)
def test_both_modes_come_to_the_same_verdict(
    modes: RunningGateway, upstream: ScriptedUpstream, drafted: str, cuts: set[int]
) -> None:
    verdicts: list[dict[str, Any]] = []
    for route in ("default", "signal"):
        plays(upstream, streams(*cut_up(drafted, cuts)))
        body = {"stream": True, "messages": [{"role": "user", "content": QUESTION}]}
        reply = httpx2.post(f"{modes.url}/{route}/v1/chat/completions", json=body, timeout=PATIENCE)
        ended = [line for line in reply.text.splitlines() if '"verdict"' in line]
        if not ended:  # reasoning only: an HTTP error, or an event
            assert "contains no text" in reply.text
            verdicts.append({})
            continue
        ours = json.loads(ended[-1].removeprefix("data: "))["suffice"]
        verdicts.append(
            {key: ours[key] for key in ("verdict", "reason", "claims", "share_read", "sources")}
        )
    assert verdicts[0] == verdicts[1]
