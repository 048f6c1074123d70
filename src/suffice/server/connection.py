"""How requests come in: in time and within a size, or the connection is closed."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from suffice.errors import SettingsError
from suffice.settings import ServerSettings

_IDLE = 75
"""Seconds that a connection may rest: longer than clients and balancers keep one, so that none is
closed at the moment it is used again."""


def bound(host: str, port: int) -> socket.socket:
    """The socket, so that a port that is taken is told before anything is loaded."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio sends small writes at once: no reply waits 40 ms for an ACK.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as problem:
        listening.close()
        raise SettingsError(
            f"{host} port {port} cannot be listened on: {problem.strerror}.",
            remedy="Name another --port or --host.",
        ) from problem
    return listening


def connection(seconds: float) -> type[H11Protocol]:
    """HTTP by h11, which keeps to a limit on the size of headers; a head that is not there after so
    many seconds from its start is waited for no longer. Between requests there is more time."""

    class Connection(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        _resting = False

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait(seconds)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._resting = not self.conn.trailing_data[0]
            self._wait(max(seconds, _IDLE) if self._resting else seconds)

        def data_received(self, data: bytes) -> None:
            if self._resting:  # the next head begins
                self._resting = False
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


def config_of(app: ASGIApp, server: ServerSettings) -> uvicorn.Config:
    """How uvicorn is to serve an app: what it takes of a request before we see it is limited too,
    and nobody is believed who says on whose behalf it asks."""
    limits = server.limits
    return uvicorn.Config(
        app,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        http=connection(limits.head_seconds),
        ws="none",
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=int(server.stop) + 1,
        lifespan="on",
    )
