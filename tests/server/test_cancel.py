"""Checks that nobody waits for end, and a shutdown ends whatever is still at work."""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from suffice.deadline import watched
from suffice.evidence.index import Filter
from suffice.evidence.library import Library
from suffice.settings import RouteSettings, WorkSettings
from suffice.testing import ScriptedUpstream, says
from tests.server.gateway import (
    QUESTION,
    RIGHT,
    WRONG,
    RunningGateway,
    plays,
    routes,
    running,
    use_checks,
)
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.runs_models
BODY = {"messages": [{"role": "user", "content": QUESTION}]}


class Endless:
    """The first check; on one draft it never ends by itself, as with far too many claims."""

    def __init__(self, check: Any) -> None:
        self.check, self.name = check, check.name
        self.begun = threading.Event()

    def judge(self, draft: Any, evidence: Any) -> Any:
        if draft.text == WRONG:
            self.begun.set()
            for _ in watched(itertools.count()):
                threading.Event().wait(0.001)
        return self.check.judge(draft, evidence)


@contextmanager
def endless(
    library: Library, upstream: ScriptedUpstream, **route: Any
) -> Iterator[tuple[RunningGateway, Endless]]:
    """A gateway with a single inference thread."""
    settings = routes(
        RouteSettings(upstream=upstream.url, **route),
        capacity=WorkSettings(threads=1, max_queued=8),
    )
    with running(library, settings) as gateway:
        opened = gateway.inner.state.routes["default"]
        first, *others = opened.assembly.checks(Filter())
        check = Endless(first)
        use_checks(opened, (check, *others))
        yield gateway, check


@pytest.mark.parametrize("stream", [False, True])
def test_the_time_limit_ends_the_work_and_the_next_client_is_answered(
    library: Library, upstream: ScriptedUpstream, stream: bool
) -> None:
    plays(upstream, says(WRONG), says(RIGHT))
    mode: Any = "signal" if stream else "buffer"
    with endless(library, upstream, check_seconds=0.3, streaming=mode) as (gateway, check):
        late = gateway.post("/chat/completions", {**BODY, "stream": stream})
        assert check.begun.is_set()
        assert "took longer than 0.3 s" in late.text
        until(lambda: gateway.inner.work.jobs == 0)
        answered = gateway.post("/gate", {"question": QUESTION})
        assert answered.json()["open"]


def test_a_client_that_hangs_up_ends_its_work(library: Library, upstream: ScriptedUpstream) -> None:
    plays(upstream, says(WRONG))
    with endless(library, upstream) as (gateway, check):
        body = json.dumps(BODY).encode()
        port = int(gateway.url.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)) as client:
            head = (
                "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            client.sendall(head.encode() + body)
            assert check.begun.wait(PATIENCE)
        until(lambda: gateway.inner.work.jobs == 0)
        plays(upstream, says(RIGHT))
        assert gateway.post("/chat/completions", BODY).json()["suffice"]["verdict"] == "SERVE"


STUCK = """
import sys, threading
from pathlib import Path
from suffice.evidence.library import Library
from suffice.server import run
from suffice.server.run import bound
from suffice.settings import RouteSettings, ServerSettings, Settings
from suffice.testing import ScriptedUpstream, says

class Stuck:
    name = "structure"
    def judge(self, draft, evidence):
        print("begun", flush=True)
        threading.Event().wait()  # looks at no deadline

def started(gateway):
    vars(gateway.state.routes["default"].assembly)["checks"] = lambda *_, **__: (Stuck(),)
    print(listening.getsockname()[1], flush=True)

run._GRACE = 0.2
with ScriptedUpstream([says("Remote work is allowed 3 days per week. [1]")]) as upstream:
    route = RouteSettings(upstream=upstream.url)
    server = ServerSettings(routes={"default": route}, port=0, shutdown_seconds=0.2)
    settings = Settings(server=server)
    library = Library.open(Path(sys.argv[1]), settings, create=True)
    listening = bound("127.0.0.1", 0)
    run.serve(settings, library, listening, started)
"""


def test_a_shutdown_ends_whatever_is_at_work(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK, str(tmp_path / "store.db")],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        evidence = [{"text": "Remote work is allowed 3 days per week."}]
        body = json.dumps({**BODY, "suffice": {"evidence": evidence, "from": "request"}}).encode()
        with socket.create_connection(("127.0.0.1", port)) as client:
            head = (
                "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            client.sendall(head.encode() + body)
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) in (0, 1)
        assert process.stderr is not None
        assert "did not finish within `server.shutdown_seconds`" in process.stderr.read()
    finally:
        process.kill()
        process.communicate()
