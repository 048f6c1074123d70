"""Limits on incoming connections: the size of request headers and the time to send them."""

from __future__ import annotations

import asyncio
import socket
from math import ceil
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from suffice.errors import SettingsError
from suffice.server.errors import ApiError
from suffice.settings import ServerSettings

_IDLE = 75
"""Seconds before an idle connection is closed. This is longer than the idle timeout of most clients
and load balancers, so that they do not reuse a connection that is being closed."""


def bound(host: str, port: int) -> socket.socket:
    """Bind the socket early, so that a port in use is reported before models are loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With an explicit protocol, asyncio sets TCP_NODELAY: no reply waits 40 ms for an ACK.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as problem:
        listening.close()
        raise SettingsError(
            f"Cannot listen on {host} port {port}: {problem.strerror}.",
            remedy="Choose another --port or --host.",
        ) from problem
    return listening


def connection(seconds: float) -> type[H11Protocol]:
    """An h11 protocol class that closes the connection if the request headers are not complete
    within `seconds`. Between requests, the longer idle timeout applies."""

    class Connection(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        _idle = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait(seconds)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._idle = not self.conn.trailing_data[0]
            self._wait(max(seconds, _IDLE) if self._idle else seconds)

        def data_received(self, data: bytes) -> None:
            if self._idle:  # the next request's headers begin
                self._idle = False
                self._wait(seconds)
            super().data_received(data)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self._timer is not None:
                self._timer.cancel()

        def _wait(self, most: float) -> None:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_later(most, self._late)

        def _late(self) -> None:
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Connection


class HeadLimit:
    """Rejects requests whose headers are too large. h11 limits only headers that arrive in
    parts."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            # Name, colon, space, value and line end; the request line counts too.
            size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
            size += len(scope["raw_path"] or b"") + len(scope["query_string"])
            if size > self._most:
                message = f"The request headers exceed the limit of {self._most:,} bytes."
                await ApiError(431, message, "too_large").response(scope, receive, send)
                return
        await self._app(scope, receive, send)


def config_of(app: ASGIApp, server: ServerSettings) -> uvicorn.Config:
    """The uvicorn configuration. It limits what is read before the app sees a request, and ignores
    `X-Forwarded-…` headers."""
    limits = server.limits
    return uvicorn.Config(
        HeadLimit(app, limits.header_bytes),
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        http=connection(limits.head_seconds),
        ws="none",
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=ceil(server.shutdown_seconds),
        lifespan="on",
    )
