"""A gateway on loopback for tests: the app over the handbook, in a thread of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from suffice.evidence.library import Library
from suffice.server.app import create_app
from suffice.server.house import House
from suffice.settings import RouteSettings, ServerSettings, Settings


@dataclass(frozen=True)
class Gateway:
    url: str
    house: House

    @property
    def base(self) -> str:
        """What an OpenAI client takes."""
        return f"{self.url}/v1"


def serving(server: ServerSettings | None = None, **route: object) -> Settings:
    """Settings with one route that has these settings."""
    base = server or ServerSettings()
    routes = {"default": RouteSettings(**route)}  # type: ignore[arg-type]
    from dataclasses import replace

    return Settings(server=replace(base, routes=routes))


@contextmanager
def running(library: Library, settings: Settings, host: str = "127.0.0.1") -> Iterator[Gateway]:
    """`host` is what the app believes to be bound to; it listens on loopback in any case."""
    app = create_app(settings, library, host=host)
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    try:
        yield Gateway(f"http://127.0.0.1:{listening.getsockname()[1]}", app.state.house)
    finally:
        server.should_exit = True
        thread.join(20)
