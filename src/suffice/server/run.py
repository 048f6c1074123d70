"""Run the app on a socket until a signal stops it. SIGHUP reloads the settings."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import h11
import uvicorn
from h11._receivebuffer import ReceiveBuffer
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from suffice.access.sign_in import network_of
from suffice.errors import SettingsError
from suffice.evidence.library import Library
from suffice.server.app import create_app
from suffice.server.errors import CLOSE, ApiError
from suffice.server.gateway import Gateway
from suffice.server.telemetry.logs import start_logs
from suffice.server.telemetry.tracing import start_tracing
from suffice.settings import LimitSettings, ServerSettings, Settings

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


class _Lines(ReceiveBuffer):
    """Refuses a head or trailer in which a line ends without a carriage return or continues the one
    before. h11 accepts both, many proxies do not, and where the two disagree about the end of a
    request, its body can hide a second one."""

    def maybe_extract_lines(self) -> list[bytearray] | None:
        end = 2 if self._data[:2] == b"\r\n" else 1
        if end == 1 and (blank := _BLANK.search(self._data, self._multiple_lines_search)):
            end = blank.end()
        if _CROOKED.search(self._data, 0, end):
            raise h11.LocalProtocolError("a line ends without CR LF or is folded")
        return super().maybe_extract_lines()


_BLANK = re.compile(rb"\n\r?\n")
_CROOKED = re.compile(rb"(?<!\r)\n|\n[ \t]")


def connection(limits: LimitSettings) -> type[H11Protocol]:
    """An h11 protocol class that closes the connection if the request headers are not complete
    within `head_seconds`. Between requests, the longer idle timeout applies. Of the connections of
    an address that wait for the client, those beyond `waiting_connections` are closed."""
    seconds = limits.head_seconds
    waiting: dict[str, dict[Connection, None]] = {}
    """By address, in the order in which they began to wait."""

    class Connection(H11Protocol):
        _timer: asyncio.TimerHandle | None = None
        _idle = False

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.conn._receive_buffer = _Lines()

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._network = network_of(self.client[0]) if self.client else ""
            self._wait(seconds)
            self._count()

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._idle = not self.conn.trailing_data[0]
            self._wait(max(seconds, _IDLE) if self._idle else seconds)
            self._count()

        def data_received(self, data: bytes) -> None:
            if self._idle:  # the next request's headers begin
                self._idle = False
                self._wait(seconds)
            super().data_received(data)
            self._count()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            if self._timer is not None:
                self._timer.cancel()
            self._forget()

        def _wait(self, most: float) -> None:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self.loop.call_later(most, self._late)

        def _late(self) -> None:
            if self.cycle is not None and not self.cycle.response_complete:
                return
            if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
                self.transport.write(_LATE)
            self.transport.close()

        def _count(self) -> None:
            """Note whether the connection waits for the client: for headers or a body."""
            if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
                self._forget()
                return
            others = waiting.setdefault(self._network, {})
            others[self] = None
            if len(others) > limits.waiting_connections:
                oldest = next(iter(others))
                oldest._forget()
                oldest.transport.close()

        def _forget(self) -> None:
            if others := waiting.get(self._network):
                others.pop(self, None)
                if not others:
                    del waiting[self._network]

    return Connection


_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    b"Content-Length: 44\r\n\r\nThe request headers did not arrive in time.\n"
)


class HeadRules:
    """Rejects requests whose headers are too large, because h11 limits only headers that arrive in
    parts, or from which two servers may read different lengths of the body."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = self._fault(scope) if scope["type"] == "http" else None
        await (fault.response if fault else self._app)(scope, receive, send)

    def _fault(self, scope: Scope) -> ApiError | None:
        # Name, colon, space, value and line end; the request line counts too.
        size = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
        size += len(scope["raw_path"] or b"") + len(scope["query_string"])
        if size > self._most:
            message = f"The request headers exceed the limit of {self._most:,} bytes."
            return ApiError(431, message, "too_large")
        names = {name for name, _ in scope["headers"]}
        if b"transfer-encoding" in names and (
            b"content-length" in names or scope["http_version"] == "1.0"
        ):
            return ApiError(400, _AMBIGUOUS, "ambiguous_length", headers=CLOSE)
        return None


_AMBIGUOUS = (
    "The length of the request body is ambiguous. Send either Content-Length or, in HTTP/1.1, "
    "Transfer-Encoding."
)


def config_of(app: ASGIApp, server: ServerSettings) -> uvicorn.Config:
    """The uvicorn configuration. It limits what is read before the app sees a request, and ignores
    `X-Forwarded-…` headers."""
    limits = server.limits
    return uvicorn.Config(
        HeadRules(app, limits.header_bytes),
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        http=connection(limits),
        ws="none",
        h11_max_incomplete_event_size=limits.header_bytes,
        timeout_keep_alive=_IDLE,
        timeout_graceful_shutdown=ceil(server.shutdown_seconds),
        lifespan="on",
    )


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

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


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
