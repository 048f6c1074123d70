"""No field of a stream or a reply releases unchecked text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from suffice.evidence.library import Library
from suffice.settings import CollectionSettings, DraftSettings, RouteSettings, VerdictSettings
from suffice.testing import Scripted, ScriptedUpstream, says
from tests.server.events import asked, heard, piece, raw, replies, said, sends, text
from tests.server.gateway import RIGHT, WRONG, RunningGateway, plays, routes, running

OWN = CollectionSettings(
    draft=DraftSettings(revisions=0, retries=0), verdict=VerdictSettings(rescue=False)
)
TOOLS: Any = [{"type": "function", "function": {"name": "find", "parameters": {}}}]
CALL: Any = {"index": 0, "id": "c", "type": "function"}
CALL |= {"function": {"name": "find", "arguments": "{}"}}
SECRET = "12 days"
THOUGHT = "Surely it is 12 days, is it not?"
END = piece({}, "stop")


@pytest.fixture(scope="module")
def modes(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    buffer = RouteSettings(upstream=upstream.url, own=OWN, show_withheld=True)
    named = {
        "default": buffer,
        "signal": replace(buffer, streaming="signal"),
        "free": replace(buffer, grounding=False),
    }
    with running(library, routes(named)) as gateway:
        yield gateway


def test_thinking_is_held_back(modes: RunningGateway, upstream: ScriptedUpstream) -> None:
    thinks = f"<think>{THOUGHT}</think>\n<thinking>{THOUGHT}</thinking>\n\n"
    for pieces in ([thinks, RIGHT], [*thinks, *RIGHT], [f"\n {thinks}{RIGHT[:9]}", RIGHT[9:]]):
        for route in ("signal", "free"):
            plays(upstream, sends(*said(*pieces), END))
            parts = heard(modes, route)
            assert SECRET not in json.dumps(parts)
            assert "think" not in json.dumps([part["choices"] for part in parts])
            assert text(parts).startswith(RIGHT)
            assert parts[0]["choices"][0]["delta"]["role"] == "assistant"
            flown = [part for part in parts if part["choices"][0]["delta"].get("content")]
            assert len(flown) >= min(len(pieces), len(RIGHT)) - 1  # and the rest is not
    plays(upstream, says(f"{thinks}{RIGHT}"))
    whole = heard(modes, "default")[-1]["suffice"]
    plays(upstream, sends(*said(*thinks, *RIGHT), END))
    flown = heard(modes)[-1]["suffice"]
    for name in ("verdict", "reason", "claims", "notes"):
        assert flown[name] == whole[name]


@pytest.mark.parametrize("route", ["signal", "free", "default"])
def test_thinking_without_an_end_is_no_answer(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    thinks = f"<think>{THOUGHT} {THOUGHT}"
    plays(upstream, says(thinks) if route == "default" else sends(*said(*thinks), END))
    reply = asked(modes, route)
    assert reply.status_code == 502
    assert "contains no text" in reply.text
    assert SECRET not in reply.text


def test_what_only_looks_like_thinking_is_told(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    """A tag that is no HTML element is text; an element is markup, which shows nothing."""
    shown = {
        f"<thin {RIGHT}": f"&lt;thin {RIGHT}",
        f"<t> {RIGHT}": f"&lt;t> {RIGHT}",
        "<thi": "&lt;thi",
        f" <b>{RIGHT}": RIGHT,
    }
    for drafted, released in shown.items():
        plays(upstream, sends(*said(*drafted), END))
        assert text(heard(modes)).startswith(released)


@pytest.mark.parametrize(
    "pieces",
    [
        [piece({"refusal": one}) for one in ("You may ", "work ", "12 days ", "a week.")],
        [piece({"content": [{"type": "text", "text": "You may work 12 days a week."}]})],
        [
            piece({"content": [{"type": "thinking", "thinking": [{"text": THOUGHT}]}]}),
            piece({"content": [{"type": "text", "text": "You may work 12 days a week."}]}),
        ],
    ],
)
def test_refusals_and_parts_are_text_like_any_other(
    modes: RunningGateway, upstream: ScriptedUpstream, pieces: list[Any]
) -> None:
    plays(upstream, sends(*pieces, END))
    parts = heard(modes)
    plays(upstream, says("You may work 12 days a week."))
    whole = heard(modes, "default")[-1]["suffice"]
    assert text(parts).startswith("You may work 12 days a week.\n\nSome claims could not")
    assert "refusal" not in json.dumps([part["choices"] for part in parts])
    assert "Surely" not in json.dumps(parts)
    assert parts[-1]["suffice"]["claims"] == whole["claims"]
    assert parts[-1]["suffice"]["verdict"] == whole["verdict"] == "WITHHOLD"


def test_text_before_a_call_is_checked_all_the_same(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    pieces = [*said(f"{WRONG} ", "One moment"), piece({"tool_calls": [CALL]}, "tool_calls")]
    plays(upstream, sends(*pieces))
    parts = heard(modes)  # a call to a tool that was not offered: it is dropped
    last = parts[-1]
    assert last["choices"][0]["finish_reason"] == "stop"
    assert not any(one["choices"][0]["delta"].get("tool_calls") for one in parts)
    assert last["suffice"]["verdict"] == "WITHHOLD"
    assert any("retraction" in part.get("suffice", ()) for part in parts)
    assert "Some claims could not be verified" in text(parts)


@pytest.mark.parametrize("route", ["signal", "default"])
def test_where_tools_are_offered_nothing_flows_before_it_is_known_what_it_is(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    beside = {"content": f"<think>{THOUGHT}</think>{WRONG}", "tool_calls": [CALL]}
    plays(upstream, replies(beside, "tool_calls"))
    parts = heard(modes, route, tools=TOOLS)
    assert upstream.requests[0]["stream"] is False
    assert text(parts) == ""
    assert parts[-1]["suffice"]["verdict"] is None
    assert any(one["choices"][0]["delta"].get("tool_calls") for one in parts)
    kept = {**beside, "content": f"<think>{THOUGHT}</think>Can you tell me more?"}
    plays(upstream, replies(kept, "tool_calls"))
    assert text(heard(modes, route, tools=TOOLS)) == "Can you tell me more?"
    plays(upstream, says(WRONG))
    assert WRONG not in text(heard(modes, route, tools=TOOLS))


FIELDS: dict[str, Any] = {
    "reasoning_text": THOUGHT,
    "thinking_blocks": [{"type": "thinking", "thinking": THOUGHT}],
    "provider_specific_fields": {"reasoning_content": THOUGHT, "region": "eu-1"},
    "annotations": [{"type": "url_citation", "url_citation": {"title": THOUGHT, "url": "u://1"}}],
    "audio": {"transcript": THOUGHT},
    "remark": THOUGHT,
    "suffice": {"verdict": "SERVE"},
}


@pytest.mark.parametrize("route", ["signal", "default", "free"])
def test_fields_that_speak_do_not_leave(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    forged: Any = {"suffice": {"verdict": "FORGED"}, "sufficiency": {"level": "FORGED"}}
    spoken = {**FIELDS, "mood": "calm"}
    if route == "default":
        reply = replies({"content": RIGHT, **spoken}, text=THOUGHT, **forged)
    else:
        cut = [{"remark": one} for one in ("Surely ", "it is ", "12 ", "days")]
        more = {**piece({**spoken}, text=THOUGHT, **forged), **forged, "snippets": [THOUGHT]}
        reply = sends(*said(RIGHT[:20], RIGHT[20:]), *map(piece, cut), more, END)
    plays(upstream, reply)
    parts = heard(modes, route)
    told = json.dumps(parts)
    assert text(parts).startswith(RIGHT)
    assert SECRET not in told
    assert "FORGED" not in told
    if route == "signal":  # other values are sent with the text they belong to
        assert "calm" in told
        assert "eu-1" in told
        assert "u://1" not in told  # annotations are unchecked sources
    plays(upstream, replace(says(WRONG), message={"mood": "calm"}))
    assert ("calm" in json.dumps(heard(modes, route))) is (route == "free")


def _tokens(*texts: str) -> dict[str, Any]:
    return {"content": [{"token": one, "logprob": -0.1, "top_logprobs": []} for one in texts]}


def test_probabilities_are_of_the_text_that_leaves(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    thinks = f"<think>{THOUGHT}</think>"
    pieces = [
        piece({"content": thinks}, logprobs=_tokens(thinks)),
        piece({"content": RIGHT[:8]}, logprobs=_tokens(RIGHT[:8])),
        piece({"content": RIGHT[8:]}, logprobs=_tokens(THOUGHT, RIGHT[8:])),
    ]
    plays(upstream, sends(*pieces, END))
    parts = heard(modes)
    assert SECRET not in json.dumps(parts)
    assert parts[0]["choices"][0]["logprobs"] == _tokens(RIGHT[:8])
    for tokens, kept in ((_tokens(RIGHT), True), (_tokens(THOUGHT, RIGHT), False)):
        plays(upstream, replies({"content": RIGHT}, logprobs=tokens))
        body = {"messages": [{"role": "user", "content": "How many remote days per week?"}]}
        choice = modes.post("/chat/completions", body).json()["choices"][0]
        assert choice["message"]["content"].startswith(RIGHT)
        assert (choice.get("logprobs") is not None) is kept


def test_a_format_is_checked_without_what_was_thought(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    right = json.dumps({"answer": RIGHT.removesuffix(" [1]")})
    for route in ("default", "signal", "free"):
        plays(upstream, says(f"<think>{THOUGHT}</think>{right}"))
        parts = heard(modes, route, response_format={"type": "json_object"})
        assert text(parts) == right
        assert SECRET not in json.dumps(parts)


@pytest.mark.parametrize("route", ["signal", "default"])
def test_each_choice_has_its_verdict_and_no_other_leaves(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    plays(upstream, Scripted(RIGHT, others=(WRONG, "The moon is made of cheese. [1]")))
    parts = heard(modes, route, n=2)
    ends = [part for part in parts if part["choices"] and part["choices"][0]["finish_reason"]]
    assert [one["choices"][0]["index"] for one in ends] == [0, 1]
    assert ends[1]["suffice"]["verdict"] == "WITHHOLD"
    assert ends[0]["suffice"]["verdict"] != "WITHHOLD"
    assert "cheese" not in json.dumps(parts)
    plays(upstream, Scripted(RIGHT, others=(WRONG,)))
    parts = heard(modes, route)  # two choices, although one was requested
    assert {one["index"] for part in parts for one in part["choices"]} == {0}
    if route == "signal":
        odd = [piece({"content": WRONG}, index=n) for n in (-1, 1, 99)]
        plays(upstream, sends(*odd, *said(RIGHT), END))
        assert "4 days" not in text(heard(modes))
        assert text(heard(modes)).startswith(RIGHT)


def test_a_filter_on_the_other_side_is_told(
    modes: RunningGateway, upstream: ScriptedUpstream
) -> None:
    found = {}
    for route in ("default", "signal"):
        plays(upstream, says(f"{RIGHT} You may", finish="content_filter"))
        ours = heard(modes, route)[-1]["suffice"]
        found[route] = {name: ours[name] for name in ("verdict", "reason", "claims")}
    assert found["signal"] == found["default"]
    plays(upstream, sends(piece({"content": ""}, "content_filter")))
    assert "contains no text" in asked(modes, "signal").text


WORDS = [piece({"content": one}) for one in (RIGHT[:12], RIGHT[12:])]
LINES = [json.dumps(one) for one in [*WORDS, END]]
USED = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


@pytest.mark.parametrize(
    "body",
    [
        b"".join(b"data: %b\r\n\r\n" % one.encode() for one in LINES) + b"data: [DONE]\r\n\r\n",
        b"".join(b"data: %b\r\r" % one.encode() for one in LINES) + b"data: [DONE]\r\r",
        b"\xef\xbb\xbf" + b"".join(b"data:%b\n\n" % one.encode() for one in LINES),
        b"".join(b"data: %b\n" % one.encode() for one in LINES) + b"data: [DONE]",
        b"".join(
            b"id: 7\nretry: 1\nevent: message\ndata: %b\n: said\n\n"
            % json.dumps(one, indent=1).replace("\n", "\ndata: ").encode()
            for one in [*WORDS, END]
        )
        + b"data: [DONE]\n\n",
        b"".join(
            b"data: %b\n\n" % json.dumps({**one, "usage": USED}).encode() for one in [*WORDS, END]
        )
        + b"data: [DONE]\n\n",
    ],
    ids=["crlf", "cr", "bom and no [DONE]", "single lines", "several lines", "usage midway"],
)
def test_events_as_servers_write_them(
    modes: RunningGateway, upstream: ScriptedUpstream, body: bytes
) -> None:
    plays(upstream, raw(body))
    parts = heard(modes, stream_options={"include_usage": True})
    assert text(parts).startswith(f"{RIGHT}\n\nSources verified")
    assert parts[-2]["choices"][0]["finish_reason"] == "stop"
    assert all("usage" not in part for part in parts[:-1])


@pytest.mark.parametrize("error", [{"message": "overloaded"}, {"error": {"message": "overloaded"}}])
def test_an_error_event_is_no_word_of_the_answer(
    modes: RunningGateway, upstream: ScriptedUpstream, error: Any
) -> None:
    failed = b"event: error\ndata: %b\n\n" % json.dumps(error).encode()
    plays(upstream, raw(failed))
    told = asked(modes, "signal")
    assert (told.status_code, "overloaded" in told.text) == (502, False)
    plays(upstream, raw(b"data: %b\n\n%b" % (LINES[0].encode(), failed)))
    parts = heard(modes)
    assert parts[-1]["choices"][0]["finish_reason"] == "length"
    assert "could not be verified" in text(parts)


@pytest.mark.parametrize("route", ["default", "free"])
def test_a_name_that_json_has_twice_is_read_twice(
    modes: RunningGateway, upstream: ScriptedUpstream, route: str
) -> None:
    right = "Eligible employees may work remotely up to 3 days per week."
    wrong = right.replace("3 days", SECRET)
    twice = f'{{"remote_work": "{wrong}", "remote_work": "{right}"}}'
    plays(upstream, replies({"content": twice}))
    parts = heard(modes, route, response_format={"type": "json_object"})
    assert (SECRET in text(parts)) is (route == "free")
    assert parts[-1]["suffice"]["verdict"] == ("WITHHOLD" if route == "default" else "CAVEAT")
