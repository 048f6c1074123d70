"""A search and a gate that take too long are cancelled, and nothing is recorded for them."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from suffice.deadline import watched
from suffice.evidence.library import Library
from suffice.pipeline import Pipeline
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running
from tests.waiting import until

pytestmark = pytest.mark.runs_models
BODY = {"messages": [{"role": "user", "content": QUESTION}]}
ENDLESS = "Is this a megabyte of evidence?"


@pytest.fixture
def gateway(
    library: Library, upstream: ScriptedUpstream, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RunningGateway]:
    """A gateway whose gate never ends for one question."""
    plays(upstream, says(RIGHT))
    gated = Pipeline.retrieve_and_gate
    begun = Pipeline.begin

    def wait(question: str) -> None:
        if question == ENDLESS:
            for _ in watched(itertools.count()):
                threading.Event().wait(0.001)

    def slow_gate(self: Pipeline, question: str, *more: Any) -> Any:
        wait(question)
        return gated(self, question, *more)

    def slow_begin(self: Pipeline, question: str, *more: Any) -> Any:
        wait(question)
        return begun(self, question, *more)

    monkeypatch.setattr(Pipeline, "retrieve_and_gate", slow_gate)
    monkeypatch.setattr(Pipeline, "begin", slow_begin)
    settings = {
        "default": RouteSettings(upstream=upstream.url, gate_seconds=0.5),
        "signal": RouteSettings(upstream=upstream.url, gate_seconds=0.5, streaming="signal"),
    }
    with running(library, routes(settings)) as opened:
        yield opened


def written(gateway: RunningGateway) -> int:
    assert gateway.inner.log is not None
    return len(list(gateway.inner.log.entries()))


def ended(gateway: RunningGateway, before: int) -> None:
    """The thread noticed the deadline: nothing is at work, and nothing was recorded."""
    until(lambda: gateway.inner.work.jobs == 0 and gateway.inner.work.under_way == 0)
    assert written(gateway) == before


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", ["default", "signal"])
def test_a_gate_that_takes_too_long_is_cancelled(
    gateway: RunningGateway, model: str, stream: bool
) -> None:
    before = written(gateway)
    body = {"model": model, "stream": stream, "messages": [{"role": "user", "content": ENDLESS}]}
    reply = gateway.post("/chat/completions", body)
    assert "gate_timeout" in reply.text
    assert "0.5 s (gate_seconds of the route)" in reply.text
    ended(gateway, before)


def test_the_gate_alone_is_cancelled_too(gateway: RunningGateway) -> None:
    before = written(gateway)
    reply = gateway.post("/gate", {"question": ENDLESS, "evidence": [RIGHT]})
    assert reply.status_code == 504
    assert reply.json()["error"]["code"] == "gate_timeout"
    ended(gateway, before)
