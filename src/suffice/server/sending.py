"""Send responses, and cancel the work for a request if its client disconnects."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.server.errors import EVENTS_TYPE, KEEP_ALIVE

T = TypeVar("T")
_HOST = re.compile(r"\A[a-z]++://[^/?#]*+")
_LAST = 1.0
"""Seconds to send the final event of a stream that timed out or was stopped."""


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


class Gone(Exception):
    """The client disconnected."""


async def while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of `work`, or cancel it and raise `Gone` if the client disconnects."""
    return await _first(asyncio.ensure_future(work), request.receive)


async def _first(task: asyncio.Future[T], receive: Receive) -> T:
    gone: asyncio.Future[Any] = asyncio.ensure_future(_disconnected(receive))
    both: tuple[asyncio.Future[Any], ...] = (task, gone)
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Gone
    finally:
        # Do not await a finished task again: its exception would lose its traceback.
        for one in (one for one in both if not one.done()):
            one.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await one


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def stopped() -> None:
    """Undo the cancellation of the current task, so that it can report the shutdown. Requests are
    cancelled only when the shutdown time is over."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()


async def _last(body: Callable[..., Awaitable[None]], last: bytes) -> None:
    """Send the final event of a stream; do not wait for a client that has stopped reading."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST):
            await body(last)
            await body(b"", more=False)


class Events(Response):
    """A stream of server-sent events. Comments keep the connection open while no event is ready."""

    media_type = EVENTS_TYPE

    def __init__(
        self,
        events: AsyncIterator[bytes],
        keep_alive: float,
        headers: dict[str, str] | None = None,
        waiting: bytes = KEEP_ALIVE,
    ) -> None:
        plain = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no", **(headers or {})}
        super().__init__(None, 200, plain, self.media_type)
        self.raw_headers = [pair for pair in self.raw_headers if pair[0] != b"content-length"]
        self._events = events
        self._keep_alive = keep_alive
        self._waiting = waiting
        self.done: Callable[[], None] = lambda: None
        """Called when the stream is complete or the client has disconnected."""
        self.until: float | None = None
        """Deadline on the event loop's clock; `late` is sent when it passes."""
        self.late = b""
        self.closing = b""
        """Sent if the server shuts down before the stream ends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def body(part: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": part, "more_body": more})

        start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
        try:
            await send(start)
            with suppress(Gone, OSError):
                await self._in_time(body, receive)
        finally:
            self.done()

    async def _in_time(self, body: Callable[..., Awaitable[None]], receive: Receive) -> None:
        try:
            async with asyncio.timeout_at(self.until):
                await _first(asyncio.ensure_future(self._sent(body)), receive)
        except TimeoutError:
            await _last(body, self.late)
        except asyncio.CancelledError:
            stopped()
            await _last(body, self.closing)

    async def _sent(self, body: Callable[..., Awaitable[None]]) -> None:
        pending: asyncio.Future[bytes] | None = None
        try:
            while True:
                pending = asyncio.ensure_future(anext(self._events))
                while not (await asyncio.wait({pending}, timeout=self._keep_alive))[0]:
                    await body(self._waiting)
                try:
                    await body(pending.result())
                except StopAsyncIteration:
                    break
            await body(b"", more=False)
        finally:
            if pending is not None and not pending.done():
                pending.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await pending
            aclose = getattr(self._events, "aclose", None)
            if aclose is not None:
                await aclose()


P = ParamSpec("P")
LARGE = 32_000
"""Size in characters or bytes up to which a thread costs more than it saves."""


async def offload(size: int, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function, in a thread if the size of its input is large."""
    if size <= LARGE:
        return call(*args, **kwargs)
    return await asyncio.to_thread(call, *args, **kwargs)
