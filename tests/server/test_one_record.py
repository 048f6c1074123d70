"""Each request writes one record, and the record matches the released text."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.log.decision import decision_of
from suffice.log.log import Log
from suffice.settings import RouteSettings
from suffice.testing import ScriptedUpstream, says
from suffice.types import Action
from tests.server.gateway import QUESTION, RIGHT, RunningGateway, plays, routes, running, use_checks
from tests.waiting import PATIENCE, until

BODY = {"messages": [{"role": "user", "content": QUESTION}]}


class Held:
    """The first check, blocked until it is released."""

    def __init__(self, check: Any) -> None:
        self.check = check
        self.begun, self.go = threading.Event(), threading.Event()
        self.name = check.name

    def judge(self, draft: Any, evidence: Any) -> Any:
        self.begun.set()
        assert self.go.wait(PATIENCE)
        return self.check.judge(draft, evidence)


@pytest.fixture
def held(gateway: RunningGateway) -> Iterator[Held]:
    opened = gateway.inner.state.routes["default"]
    first, *others = checks = opened.assembly.checks(Filter())
    one = Held(first)
    use_checks(opened, (one, *others))
    yield one
    one.go.set()
    use_checks(opened, checks)


@pytest.fixture
def gateway(library: Library, upstream: ScriptedUpstream) -> Iterator[RunningGateway]:
    plays(upstream, says(RIGHT))
    route = RouteSettings(upstream=upstream.url, check_seconds=0.5)
    with running(library, routes(route)) as opened:
        yield opened


def records(gateway: RunningGateway, before: int) -> list[Action]:
    """The verdicts recorded since, once all threads are done."""
    until(lambda: gateway.inner.work.jobs == 0 and gateway.inner.work.under_way == 0)
    log = gateway.inner.log
    assert isinstance(log, Log)
    decided = [entry for entry in list(log.entries())[before:] if entry.kind == "verdict"]
    return [verdict.action for entry in decided if (verdict := decision_of(entry).verdict)]


def written(gateway: RunningGateway) -> int:
    assert gateway.inner.log is not None
    return len(list(gateway.inner.log.entries()))


def test_checks_that_end_too_late_leave_no_record_of_their_own(
    gateway: RunningGateway, held: Held
) -> None:
    before = written(gateway)
    reply = gateway.post("/chat/completions", BODY)
    assert reply.json()["suffice"]["verdict"] == "WITHHOLD"
    held.go.set()
    assert records(gateway, before) == [Action.WITHHOLD]


def test_a_caller_who_has_gone_leaves_no_record_of_an_answer(
    library: Library, upstream: ScriptedUpstream
) -> None:
    plays(upstream, says(RIGHT))
    with running(library, routes(RouteSettings(upstream=upstream.url))) as gateway:
        opened = gateway.inner.state.routes["default"]
        first, *others = opened.assembly.checks(Filter())
        check = Held(first)
        use_checks(opened, (check, *others))
        before = written(gateway)
        body = json.dumps(BODY).encode()
        port = int(gateway.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            head = (
                "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            client.sendall(head.encode() + body)
            assert check.begun.wait(PATIENCE)
        until(lambda: gateway.inner.work.under_way == 0 or written(gateway) > before)
        check.go.set()
        assert records(gateway, before) == [Action.WITHHOLD]
