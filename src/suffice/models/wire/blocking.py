"""Calls that block the thread, for whole replies or streams of events."""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from random import uniform
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from suffice.deadline import check, current, watched
from suffice.models.wire.endpoint import (
    AGAIN,
    QUOTED,
    UP,
    URL,
    Body,
    CallFailed,
    Endpoint,
    Kind,
    Send,
    clipped,
    message_of,
    retry_after,
)

if TYPE_CHECKING:
    import ssl

    import httpx2

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 8.0


@dataclass(frozen=True, slots=True)
class Head:
    """The status and headers of a reply."""

    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Read:
    """A step: read the whole body of the reply and close it."""


@dataclass(frozen=True, slots=True)
class Wait:
    """A step: wait before the next attempt, because the last attempt failed."""

    seconds: float
    failed: CallFailed


Step = Send | Read | Wait
Attempts = Generator[Step, Head | bytes | None, None]


def attempts(
    endpoint: Endpoint, body: Body | None, deadline: float, clock: Callable[[], float]
) -> Attempts:
    """Yield the steps of a call. The caller sends back a `Head` for `Send`, bytes for `Read` and
    nothing for `Wait`, and throws in exceptions of the HTTP client.

    Returns once a reply with a success status is open. Raises `CallFailed` when no attempt is left.
    """
    tries = 0
    while True:
        wait = uniform(0.5, 1) * min(_FIRST_WAIT * 2**tries, _LONGEST_WAIT)
        try:
            head = yield endpoint.request(body, deadline - clock())
            assert isinstance(head, Head)
            if 200 <= head.status < 300:
                return
            data = yield Read()
            assert isinstance(data, bytes)
            failed = endpoint.refusal(head.status, data, retry_after(head.headers))
            failed.again = head.status in AGAIN
            less = endpoint.spared(body, failed.detail) if head.status == 400 else None
        except Exception as problem:
            failed, less = endpoint.failure(problem), None
        if less is not None:
            body = less
            continue
        wait = wait if failed.wait is None else failed.wait
        left = min(deadline - clock(), endpoint.patience)
        if not failed.again or tries >= endpoint.retries or wait >= left:
            raise failed
        tries += 1
        yield Wait(wait, failed)


DONE = b"[DONE]"
Sent = tuple[str, bytes]
"""The name of an event (empty if it has none) and its data."""


@dataclass(slots=True)
class EventReader:
    """Parses bytes fed in parts. `close` returns a last event that lacks its final empty line."""

    _rest: bytes = b""
    _parts: list[bytes] = field(default_factory=list)
    """Parts of an incomplete line, after `_rest`."""
    _name: str = ""
    _data: list[bytes] = field(default_factory=list)
    _begun: bool = False

    def feed(self, part: bytes) -> Iterator[Sent]:
        if self._begun and b"\n" not in part and b"\r" not in part:
            self._parts.append(part)
            return
        part = b"".join((self._rest, *self._parts, part))
        self._parts = []
        if not self._begun and len(part) >= len(BOM_UTF8):
            self._begun, part = True, part.removeprefix(BOM_UTF8)
        # A part may end inside a CRLF.
        part, later = (part[:-1], b"\r") if part.endswith(b"\r") else (part, b"")
        if b"\r" in part:
            part = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, rest = part.split(b"\n")
        self._rest = rest + later
        for line in lines:
            yield from self._line(line)

    def close(self) -> Iterator[Sent]:
        if rest := b"".join((self._rest, *self._parts)):
            yield from self._line(rest.removeprefix(BOM_UTF8).rstrip(b"\r"))
            self._rest, self._parts = b"", []
        yield from self._event()

    def _line(self, line: bytes) -> Iterator[Sent]:
        if not line:
            yield from self._event()
        elif line.startswith(b"data:"):
            data = line[5:].strip()
            if self._data and _separate(self._data[-1], data):
                yield from self._event()
            self._data.append(data)
        elif line.startswith(b"event:"):
            self._name = line[6:].strip().decode("utf-8", "replace")

    def _event(self) -> Iterator[Sent]:
        name, data = self._name, self._data
        self._name, self._data = "", []
        if data:
            yield name, b"\n".join(data)


def _separate(first: bytes, second: bytes) -> bool:
    """Whether two data lines are separate events although no empty line is between them: within a
    JSON value, no object follows another without a comma."""
    return first.endswith(b"}") and (second.startswith(b"{") or second == DONE)


@dataclass(slots=True)
class ReplyReader:
    """Parses a reply that is fed in parts and then closed. With `stream`, the reply is a stream of
    events; with `ends`, it must end with `[DONE]`."""

    endpoint: Endpoint
    stream: bool = False
    ends: bool = True
    done: bool = False
    """Whether `[DONE]` was received, so that nothing is left to read."""
    pending: int = 0
    """The number of bytes received since the last value."""
    _size: int = 0
    _parts: list[bytes] = field(default_factory=list)
    _events: EventReader = field(default_factory=EventReader)

    @classmethod
    def of_stream(cls, endpoint: Endpoint, content_type: str, *, ends: bool = True) -> ReplyReader:
        """The reader for a request that asked for a stream. A server that does not stream sends one
        object, which becomes one event."""
        whole = not content_type or re.search("json|html", content_type)
        return cls(endpoint, stream=not whole, ends=ends)

    def feed(self, part: bytes) -> Iterator[dict[str, Any]]:
        self._size += len(part)
        self.pending += len(part)
        if self._size > self.endpoint.most_bytes:
            most = self.endpoint.most_bytes
            raise self.endpoint.problem(f"its reply has more than {most:,} bytes", URL)
        if self.stream:
            yield from self._read(self._events.feed(part))
        else:
            self._parts.append(part)

    def close(self) -> Iterator[dict[str, Any]]:
        if not self.stream:
            yield parsed(self.endpoint, self.body)
            return
        yield from self._read(self._events.close())
        if self.ends and not self.done:
            raise self.endpoint.problem("the stream ended early", UP)

    @property
    def body(self) -> bytes:
        """The body so far, if it is not a stream."""
        return b"".join(self._parts)

    def _read(self, events: Iterator[tuple[str, bytes]]) -> Iterator[dict[str, Any]]:
        for name, data in events:
            self.done = self.done or data == DONE
            if self.done:
                return
            self.pending = 0
            yield parsed(self.endpoint, data, error=name == "error")


def parsed(endpoint: Endpoint, data: bytes, *, error: bool = False) -> dict[str, Any]:
    """The JSON object in these bytes. Raise an error if it reports an error."""
    try:
        value = endpoint.decoded(data)
    except (ValueError, RecursionError):
        text = data[: 4 * QUOTED].decode("utf-8", "replace").strip()
        if text.startswith("<"):
            raise endpoint.problem("it replied with a web page, not with JSON", URL) from None
        raise endpoint.problem("its reply is not JSON", UP, clipped(text)) from None
    if not isinstance(value, dict):
        raise endpoint.problem("its reply is not a JSON object", UP)
    if error or value.get("error"):
        said = message_of(value.get("error") or value)
        raise endpoint.problem("its reply reports an error", UP, said, kind=Kind.FAILED)
    return value


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
