"""A draft that is too long ends in a clear verdict, and no long text is worked on in the event
loop."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from suffice.evidence.library import Library
from suffice.server import errors
from suffice.server.sending import LARGE
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, says, streams
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running

SENTENCE = "Eligible employees may work remotely up to 3 days per week. [1] "
LONG = SENTENCE * (5_000_000 // len(SENTENCE))
LIMIT = "longer than 100,000 characters"
CHAT = {"messages": [{"role": "user", "content": QUESTION}]}


@dataclass
class LoopLoad:
    """The work of the event loop: the most function calls without a pause, and the largest JSON
    text. Unlike seconds, these do not depend on the load of the machine."""

    most: int = 0
    json: int = 0
    _now: int = 0

    def event(self, frame: Any, kind: str, arg: Any) -> None:
        if kind == "c_call" and getattr(arg, "__name__", "") in ("poll", "select"):
            self.most, self._now = max(self.most, self._now), 0
        elif kind in ("call", "c_call"):
            self._now += 1

    def size(self, text: bytes) -> None:
        if asyncio._get_running_loop() is not None:
            self.json = max(self.json, len(text))


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> LoopLoad:
    seen, encoder, decoder = LoopLoad(), errors._encoder, errors._decoder

    class Encoder:
        def encode(self, value: Any) -> bytes:
            made = encoder.encode(value)
            seen.size(made)
            return made

    class Decoder:
        def decode(self, data: bytes) -> Any:
            seen.size(data)
            return decoder.decode(data)

    monkeypatch.setattr(errors, "_encoder", Encoder())
    monkeypatch.setattr(errors, "_decoder", Decoder())
    return seen


@contextmanager
def watched(gateway: RunningGateway, load: LoopLoad) -> Iterator[None]:
    """Watch the event loop of a gateway."""
    loop = gateway.loop
    loop.call_soon_threadsafe(sys.setprofile, load.event)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(sys.setprofile, None)


@pytest.fixture(scope="module")
def gateway(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    url = upstream.url
    named = {
        "default": RouteSettings(upstream=url, check_seconds=0.5),
        "signal": RouteSettings(upstream=url, streaming="signal", check_seconds=0.5),
        "plain": RouteSettings(upstream=url, grounding=False),
        "shadow": RouteSettings(upstream=url, shadow=True, check_seconds=0.5),
    }
    with running(library, routes(named)) as opened:
        yield opened


def asked(gateway: RunningGateway, route: str, path: str, stream: bool) -> Any:
    body = CHAT if path == "chat/completions" else {"input": QUESTION}
    return gateway.post(f"/../{route}/v1/{path}", {**body, "stream": stream})


@pytest.mark.parametrize(
    ("route", "path", "stream"),
    [
        ("default", "chat/completions", False),
        ("default", "chat/completions", True),
        ("default", "responses", False),
        ("signal", "chat/completions", True),
        ("signal", "responses", True),
        ("plain", "chat/completions", False),
        ("plain", "chat/completions", True),
        ("shadow", "chat/completions", False),
    ],
)
def test_a_long_draft_ends_in_a_verdict_and_leaves_the_loop_free(
    gateway: RunningGateway,
    upstream: ScriptedUpstream,
    load: LoopLoad,
    route: str,
    path: str,
    stream: bool,
) -> None:
    plays(upstream, streams(LONG) if stream and route != "default" else says(LONG))
    with watched(gateway, load):
        reply = asked(gateway, route, path, stream)
    assert reply.status_code == 200
    if route == "shadow":
        assert reply.headers["x-suffice-verdict"] == "WITHHOLD"
    else:
        assert LIMIT in reply.text
        assert len(reply.text) < 1_000_000
    # A stream sends its text up to the limit.
    assert load.json <= (110_000 if stream else LARGE)
    assert load.most < 5_000


def test_reading_a_draft_within_the_limit_leaves_the_loop_free(
    gateway: RunningGateway, upstream: ScriptedUpstream, load: LoopLoad
) -> None:
    plays(upstream, says(SENTENCE * 1_000))
    with watched(gateway, load):
        reply = asked(gateway, "default", "chat/completions", False)
    assert reply.json()["suffice"]["verdict"] in ("SERVE", "CAVEAT", "WITHHOLD")
    assert load.json <= LARGE
    assert load.most < 5_000


def test_an_answer_to_check_has_the_same_limit(gateway: RunningGateway) -> None:
    body = {"answer": LONG[:100_001], "evidence": [{"text": RIGHT}]}
    reply = gateway.post("/check", body)
    assert reply.status_code == 413
    assert "'answer' exceeds the limit of 100,000 characters" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("evidence", "setting"),
    [
        (["5 kg " * 30_000], "passage_characters"),
        (["5 kg " * 15_000, "5 kg " * 15_000], "evidence_numbers"),
        (["a"] * 201, "evidence_passages"),
        (["a" * 90_000] * 12, "evidence_characters"),
    ],
)
def test_too_much_evidence_is_refused_by_the_name_of_its_limit(
    gateway: RunningGateway, evidence: list[str], setting: str
) -> None:
    reply = gateway.post("/check", {"answer": RIGHT, "evidence": evidence})
    assert reply.status_code == 413
    assert f"server.limits.{setting}" in reply.json()["error"]["message"]
