"""A call over a scripted transport: what is sent, when it waits and when it gives up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import httpx2
import pytest

from suffice.models.wire.client import fetch, stream
from suffice.models.wire.endpoint import CallFailed, Endpoint, Kind, Request

P = ParamSpec("P")
T = TypeVar("T")
ENDPOINT = Endpoint("http://127.0.0.1/v1/chat/completions", "sk-secret", retries=2, patience=10)
ERROR = b'{"error": {"message": "no sk-secret", "code": "c"}}'


@dataclass
class ScriptedTransport:
    """Replies in order with what the test gives; notes what is sent and how long it waits."""

    replies: list[httpx2.Response | Exception]
    sent: list[Request] = field(default_factory=list)
    waits: list[tuple[float, CallFailed]] = field(default_factory=list)
    closed: int = 0

    def clock(self) -> float:
        return 0.0

    async def send(self, request: Request, until: float) -> httpx2.Response:
        self.sent.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def parts(
        self, endpoint: Endpoint, response: httpx2.Response, until: float
    ) -> AsyncGenerator[bytes, None]:
        for part in response.iter_bytes(10):
            yield part

    async def close(self, response: httpx2.Response) -> None:
        self.closed += 1

    async def wait(self, seconds: float, failed: CallFailed) -> None:
        self.waits.append((seconds, failed))

    async def compute(
        self, size: int | None, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return call(*args, **kwargs)


def refusal(status: int, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, headers=headers, content=ERROR)


def success() -> httpx2.Response:
    return httpx2.Response(200, content=b'{"choices": []}')


def fetched(io: ScriptedTransport, until: float = 60.0) -> dict[str, Any]:
    return asyncio.run(fetch(ENDPOINT, {"model": "m"}, until, io))


def failed(reply: httpx2.Response | Exception, until: float = 60.0) -> CallFailed:
    """The error after this reply, which is not tried again."""
    io = ScriptedTransport([reply])
    with pytest.raises(CallFailed) as problem:
        fetched(io, until)
    assert not io.waits
    return problem.value


def test_a_call_sends_the_key_and_returns_the_reply() -> None:
    io = ScriptedTransport([success()])
    assert fetched(io) == {"choices": []}
    (request,) = io.sent
    assert request.headers["Authorization"] == "Bearer sk-secret"
    assert (request.method, request.content, request.seconds) == ("POST", b'{"model": "m"}', 60.0)
    assert io.closed == 1


def test_temporary_failures_are_tried_again_until_none_is_left() -> None:
    io = ScriptedTransport([refusal(503), httpx2.ConnectError("nobody there"), refusal(503)])
    with pytest.raises(CallFailed, match=r"(?s)503 Service Unavailable\..*says: no …"):
        fetched(io)
    kinds = [problem.kind for _, problem in io.waits]
    assert kinds == [Kind.FAILED, Kind.CONNECTION]
    assert (len(io.sent), io.closed) == (3, 2)


def test_an_attempt_that_succeeds_ends_the_call() -> None:
    io = ScriptedTransport([refusal(429, **{"retry-after": "3"}), success()])
    assert fetched(io) == {"choices": []}
    assert [seconds for seconds, _ in io.waits] == [3.0]


@pytest.mark.parametrize(
    ("status", "kind"), [(400, Kind.REFUSED), (401, Kind.DENIED), (404, Kind.REFUSED)]
)
def test_what_will_not_change_is_not_tried_again(status: int, kind: Kind) -> None:
    problem = failed(refusal(status))
    assert (problem.kind, problem.status, problem.code) == (kind, status, "c")


@pytest.mark.parametrize(("asked", "until"), [("11", 60.0), ("6", 5.0)])
def test_a_wait_beyond_patience_or_deadline_is_not_begun(asked: str, until: float) -> None:
    problem = failed(refusal(429, **{"retry-after": asked}), until)
    assert (problem.kind, problem.wait) == (Kind.RATE_LIMIT, float(asked))


def test_a_timeout_is_not_tried_again() -> None:
    problem = failed(httpx2.ReadTimeout("slow"))
    assert problem.kind is Kind.TIMEOUT
    assert "took too long" in problem.message


def test_a_bug_is_not_a_failure_of_the_server() -> None:
    with pytest.raises(KeyError):
        fetched(ScriptedTransport([KeyError("bug")]))


def test_a_stream_yields_its_events_and_closes_when_the_reader_stops() -> None:
    body = b'data: {"n": 1}\n\ndata: {"n": 2}\n\ndata: [DONE]\n\n'
    headers = {"content-type": "text/event-stream"}

    async def numbers(most: int) -> list[int]:
        io = ScriptedTransport([httpx2.Response(200, headers=headers, content=body)])
        seen: list[int] = []
        values = stream(ENDPOINT, {}, 60.0, io)
        async for value in values:
            seen.append(value["n"])
            if len(seen) == most:
                break
        await values.aclose()
        assert io.closed == 1
        return seen

    assert asyncio.run(numbers(1)) == [1]
    assert asyncio.run(numbers(9)) == [1, 2]
