"""How requests come in: in time and within a size, or the connection is closed."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from suffice.settings import ServerSettings


def connection(seconds: float) -> type[H11Protocol]:
    """HTTP by h11, which keeps to a limit on the size of headers; a head that is not there after so
    many seconds, from the start or from the last answer, is waited for no longer."""

    class Connection(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._wait()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self._timer is not None:
                self._timer.cancel()

        def _wait(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_later(seconds, self._late)

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
        timeout_graceful_shutdown=int(server.stop) + 1,
        lifespan="on",
    )
