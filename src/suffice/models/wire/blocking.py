"""Calls that block the thread, for whole replies or streams of events."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from suffice.deadline import check, current, watched
from suffice.models.wire.attempts import Head, Wait, attempts
from suffice.models.wire.endpoint import Body, Endpoint, Send
from suffice.models.wire.replies import ReplyReader

if TYPE_CHECKING:
    import ssl

    import httpx2


def ask(endpoint: Endpoint, body: Body, timeout: float | None = None) -> dict[str, Any]:
    """The reply as a JSON object."""
    deadline = _deadline(endpoint, timeout)
    with _opened(endpoint, body, deadline) as reply:
        return next(_values(ReplyReader(endpoint), reply, deadline))


def events(
    endpoint: Endpoint, body: Body, timeout: float | None = None
) -> Iterator[dict[str, Any]]:
    """The server-sent events as JSON objects, until `[DONE]`. Raise an error if the stream
    breaks."""
    deadline = _deadline(endpoint, timeout)
    with _opened(endpoint, body, deadline) as reply:
        kind = reply.headers.get("content-type", "")
        yield from _values(ReplyReader.of_stream(endpoint, kind), reply, deadline)


def _deadline(endpoint: Endpoint, timeout: float | None) -> float:
    """When this call must end. It also ends at the deadline of the calling task."""
    work = current()
    left = None if work is None else work.left
    return monotonic() + min(t for t in (endpoint.timeout, timeout, left) if t is not None)


@contextmanager
def _opened(endpoint: Endpoint, body: Body, deadline: float) -> Iterator[httpx2.Response]:
    """An open reply with a success status."""
    import httpx2

    with endpoint.failures(), httpx2.Client(verify=_certificates()) as client:
        reply = _sent(client, endpoint, body, deadline)
        try:
            yield reply
        finally:
            reply.close()


def _sent(client: httpx2.Client, endpoint: Endpoint, body: Body, deadline: float) -> Any:
    steps = attempts(endpoint, body, deadline, monotonic)
    step, reply = next(steps), None
    while True:
        result: Head | bytes | None = None
        try:
            if isinstance(step, Send):
                reply = _send(client, step)
                result = Head(reply.status_code, reply.headers)
            elif isinstance(step, Wait):
                sleep(step.seconds)
                check()
            elif reply is not None:
                result = _whole(endpoint, reply, deadline)
        except Exception as problem:
            step = steps.throw(problem)
            continue
        try:
            step = steps.send(result)
        except StopIteration:
            return reply


def _send(client: httpx2.Client, step: Send) -> httpx2.Response:
    request = client.build_request(
        step.method,
        step.url,
        content=step.content,
        headers=dict(step.headers),
        timeout=step.seconds,
    )
    return client.send(request, stream=True)


def _whole(endpoint: Endpoint, reply: httpx2.Response, deadline: float) -> bytes:
    reader = ReplyReader(endpoint)
    try:
        for part in _parts(endpoint, reply, deadline):
            list(reader.feed(part))
    finally:
        reply.close()
    return reader.body


def _values(
    reader: ReplyReader, reply: httpx2.Response, deadline: float
) -> Iterator[dict[str, Any]]:
    for part in _parts(reader.endpoint, reply, deadline):
        yield from reader.feed(part)
        if reader.done:
            return
    yield from reader.close()


def _parts(endpoint: Endpoint, reply: httpx2.Response, deadline: float) -> Iterator[bytes]:
    for part in watched(reply.iter_bytes()):
        if monotonic() > deadline:
            raise endpoint.late()
        yield part


@cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates, cached because loading them takes longer than many calls."""
    import httpx2

    return httpx2.create_ssl_context()
