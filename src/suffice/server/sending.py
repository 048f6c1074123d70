"""Send responses, and cancel the work for a request if its client disconnects."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Never, ParamSpec, TypeVar

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.server.errors import EVENTS_TYPE, KEEP_ALIVE

T = TypeVar("T")
_HOST = re.compile(r"\A[a-z]++://[^/?#]*+")
_LAST = 1.0
"""Seconds to send the final event of a stream that timed out or was stopped."""
_AHEAD = 64
"""Number of events that may wait for a client that reads slowly."""


class LocalRedirects:
    """Sends redirects without a host. All lead to this server, and the host of an absolute one
    would be the one that the client sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def local(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if "location" in headers:
                    headers["location"] = _path(headers["location"])
            await send(message)

        await self._app(scope, receive, local if scope["type"] == "http" else send)


def _path(location: str) -> str:
    """The path of a URL on this server, with its query; never the start of another host's URL. The
    host may be anything that a client sent, so the URL need not be valid."""
    return "/" + _HOST.sub("", location).lstrip("/\\")


class ClientGone(Exception):
    """The client disconnected."""


@asynccontextmanager
async def task_group() -> AsyncIterator[asyncio.TaskGroup]:
    """A task group that raises its first failure itself, not in an exception group."""
    failure: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            yield group
    except BaseExceptionGroup as failures:
        failure = failures.exceptions[0]
    if failure is not None:
        raise failure


async def listen_for_disconnect(receive: Receive) -> Never:
    while (await receive())["type"] != "http.disconnect":
        pass
    raise ClientGone


async def cancel_on_disconnect(receive: Receive, work: Awaitable[T]) -> T:
    """Return the result of `work`, or cancel it and raise `ClientGone` if the client
    disconnects."""
    async with task_group() as group:
        listening = group.create_task(listen_for_disconnect(receive))
        result = await work
        listening.cancel()
    return result


def undo_cancellation() -> None:
    """Undo the cancellation of the current task, so that it can report the shutdown. Requests are
    cancelled only when the shutdown time is over."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


Emit = Callable[[Iterable[bytes]], Awaitable[None]]
"""Sends events. It waits while the client has too many of them to read."""
SendBody = Callable[..., Awaitable[None]]
_END = b""


class Events(Response):
    """A stream of server-sent events, which `produce` emits. Comments keep the connection open
    while no event is ready. `on_error` turns a failure after the start of the response into an
    event; `None` raises it."""

    media_type = EVENTS_TYPE

    def __init__(
        self,
        produce: Callable[[Emit], Awaitable[None]],
        keep_alive: float,
        *,
        keep_alive_event: bytes = KEEP_ALIVE,
        on_error: Callable[[Exception], bytes | None] = lambda problem: None,
    ) -> None:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(None, 200, headers, self.media_type)
        self.raw_headers = [pair for pair in self.raw_headers if pair[0] != b"content-length"]
        self._produce = produce
        self._keep_alive = keep_alive
        self._keep_alive_event = keep_alive_event
        self._on_error = on_error
        self._queue: asyncio.Queue[bytes | Exception] = asyncio.Queue(_AHEAD)
        self._producer: asyncio.Task[None] | None = None
        self._first: bytes | Exception | None = None
        self.done: Callable[[], None] = lambda: None
        """Called when the stream is complete or the client has disconnected."""
        self.until: float | None = None
        """Deadline on the event loop's clock; `late` is sent when it passes."""
        self.late = b""
        self.closing = b""
        """Sent if the server shuts down before the stream ends."""

    async def wait_for_first_event(self, request: Request) -> None:
        """Start, and wait for the first event, but no longer than the keep-alive interval. A
        failure until then is raised, so that it can set the HTTP status."""
        try:
            self._first = await cancel_on_disconnect(request.receive, self._next())
            if isinstance(self._first, Exception):
                raise self._first
        except BaseException:
            await self._stop()
            raise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def body(part: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": part, "more_body": more})

        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            with suppress(ClientGone, OSError):
                await self._send_in_time(body, receive)
        finally:
            await self._stop()
            self.done()

    async def _send_in_time(self, body: SendBody, receive: Receive) -> None:
        try:
            async with asyncio.timeout_at(self.until):
                await cancel_on_disconnect(receive, self._send(body))
        except TimeoutError:
            await _send_last(body, self.late)
        except asyncio.CancelledError:
            undo_cancellation()
            await _send_last(body, self.closing)

    async def _send(self, body: SendBody) -> None:
        event = await self._next() if self._first is None else self._first
        while event != _END:
            await body(self._keep_alive_event if event is None else self._rendered(event))
            event = await self._next()
        await body(b"", more=False)

    def _rendered(self, event: bytes | Exception) -> bytes:
        if isinstance(event, bytes):
            return event
        rendered = self._on_error(event)
        if rendered is None:
            raise event
        return rendered

    async def _next(self) -> bytes | Exception | None:
        """The next event; `None` if there is none within the keep-alive interval."""
        if self._producer is None:
            self._producer = asyncio.create_task(self._run())
        try:
            async with asyncio.timeout(self._keep_alive):
                return await self._queue.get()
        except TimeoutError:
            return None

    async def _run(self) -> None:
        try:
            await self._produce(self._emit)
        except Exception as problem:  # raised or rendered by the reader of the queue
            await self._queue.put(problem)
        await self._queue.put(_END)

    async def _emit(self, events: Iterable[bytes]) -> None:
        for event in events:
            await self._queue.put(event)

    async def _stop(self) -> None:
        """Cancel the producer and wait until it has ended."""
        if self._producer is not None:
            self._producer.cancel()
            with suppress(asyncio.CancelledError):
                await self._producer


async def _send_last(body: SendBody, last: bytes) -> None:
    """Send the final event of a stream; do not wait for a client that has stopped reading."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST):
            await body(last)
            await body(b"", more=False)


P = ParamSpec("P")
LARGE = 32_000
"""Size in characters or bytes up to which a thread costs more than it saves."""


async def offload(size: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function, in a thread if the size of its input is large."""
    if size <= LARGE:
        return call(*args, **kwargs)
    return await asyncio.to_thread(call, *args, **kwargs)
