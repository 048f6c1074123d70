"""The scripted upstream from a user's point of view."""

from __future__ import annotations

import httpx2
import pytest

from suffice.testing import Request, Scripted, ScriptedUpstream, says


def echo(request: Request) -> Scripted:
    return says(request["messages"][-1]["content"].upper())


def post(url: str, text: str) -> httpx2.Response:
    body = {"messages": [{"role": "user", "content": text}]}
    return httpx2.post(f"{url}/chat/completions", json=body, timeout=120)


def test_replies_in_order_the_last_for_good() -> None:
    with ScriptedUpstream([says("one"), echo]) as upstream:
        replies = [post(upstream.url, "hi").json() for _ in range(3)]
    assert [r["choices"][0]["message"]["content"] for r in replies] == ["one", "HI", "HI"]
    assert replies[0]["object"] == "chat.completion"
    assert len(upstream.requests) == 3


def test_other_paths_are_not_there() -> None:
    with ScriptedUpstream([echo]) as upstream:
        assert httpx2.post(f"{upstream.url}/completions", json={}, timeout=120).status_code == 404


def test_an_empty_script_and_a_server_that_is_not_started() -> None:
    with pytest.raises(ValueError, match="at least one"):
        ScriptedUpstream([])
    with pytest.raises(RuntimeError, match="with"):
        _ = ScriptedUpstream([echo]).url
