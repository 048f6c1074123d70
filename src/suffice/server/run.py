"""Run the app on a socket until a signal stops it. SIGHUP reloads the settings."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import uvicorn

from suffice.evidence.library import Library
from suffice.server.app import create_app
from suffice.server.connection import config_of
from suffice.server.gateway import Gateway
from suffice.server.telemetry.logs import start_logs
from suffice.server.telemetry.tracing import start_tracing
from suffice.settings import Settings

_SWITCH = 0.001
"""Seconds after which a thread that computes lets the event loop run; Python's default is five
times as long."""
_GRACE = 3.0
"""Seconds after `shutdown_seconds` to write the last records and close the store."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A bound socket; `quiet` suppresses the start message."""

    socket: socket.socket
    quiet: bool = False

    @property
    def url(self) -> str:
        host, port = self.socket.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def say(self, words: str) -> None:
        if not self.quiet:
            print(words, file=sys.stderr, flush=True)


def run(
    settings: Settings, library: Library, read: Callable[[], Settings], listening: Listening
) -> None:
    """Serve in this process until SIGTERM or SIGINT, then finish the requests in progress."""

    def started(gateway: Gateway) -> None:
        _on_hangup(gateway, read)
        listening.say(announced(gateway, listening.url))

    serve(settings, library, listening.socket, started)


def serve(
    settings: Settings,
    library: Library,
    listening: socket.socket,
    started: Callable[[Gateway], None],
) -> None:
    """Serve on a socket; `started` is called once the server accepts connections."""
    start_logs()
    sys.setswitchinterval(_SWITCH)
    _on_stop()
    end_tracing = start_tracing()
    app = create_app(settings, library, host=settings.server.host)
    gateway: Gateway = app.state.gateway
    start_logs(text=lambda: gateway.state.settings.server.log_text)
    server = _Server(config_of(app, settings.server), gateway, lambda: started(gateway))
    try:
        server.run([listening])
    finally:
        end_tracing()


class _Server(uvicorn.Server):
    """A uvicorn server that calls `started` once it accepts connections, and that exits in time:
    work that is still running after `shutdown_seconds` is abandoned."""

    def __init__(
        self, config: uvicorn.Config, gateway: Gateway, started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._gateway = gateway
        self._on_started = started

    def handle_exit(self, sig: int, frame: Any) -> None:
        if not self.should_exit:
            self._gateway.work.refuse()
            seconds = self._gateway.state.settings.server.shutdown_seconds + _GRACE
            leaving = threading.Timer(seconds, _leave)
            leaving.daemon = True
            leaving.start()
        super().handle_exit(sig, frame)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()


def _leave() -> None:
    """Exit the process while a thread is still running, for example in a model or a regular
    expression, which cannot be interrupted. Acknowledged records are already stored."""
    print(
        "Some work did not finish within `server.shutdown_seconds`. Exiting anyway.",
        file=sys.stderr,
        flush=True,
    )
    os._exit(1)


def _on_stop() -> None:
    """Exit normally on SIGTERM and SIGINT, also before and after serving: uvicorn raises the signal
    again when it has finished, and the exit handlers must still flush their buffers."""

    def stop(*_: object) -> None:
        raise SystemExit(0)

    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, stop)


def _on_hangup(gateway: Gateway, read: Callable[[], Settings]) -> None:
    """Reload the settings in a thread on SIGHUP, while the event loop continues to serve."""

    def reload() -> None:
        print(gateway.reload(read), file=sys.stderr, flush=True)

    if hasattr(signal, "SIGHUP"):
        signal.signal(
            signal.SIGHUP, lambda *_: threading.Thread(target=reload, daemon=True).start()
        )


def announced(gateway: Gateway, url: str) -> str:
    lines = [f"Suffice serves {url}/v1 (routes: {', '.join(gateway.state.routes)})."]
    if gateway.authenticator.open:
        lines.append("No API key is required: the gateway accepts local connections only.")
    elif not gateway.authenticator.principals.all():
        lines.append(
            "Every request needs an API key, and none exists yet. Run: suffice keys create NAME"
        )
    return "\n".join(lines)
