"""A gateway on loopback for tests: the app over the handbook, in its own thread."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import uvicorn
from openai import AsyncOpenAI, OpenAI
from starlette.types import ASGIApp

from suffice.checks.check import Check
from suffice.evidence.library import Library
from suffice.server.app import create_app
from suffice.server.gateway import Gateway
from suffice.server.route import Route
from suffice.server.run import config_of
from suffice.settings import (
    MonitorSettings,
    RouteSettings,
    SearchSettings,
    ServerSettings,
    Settings,
)
from suffice.testing import Reply, ScriptedUpstream
from tests.waiting import PATIENCE, until

QUESTION = "How many days per week may I work remotely?"
RIGHT = "Eligible employees may work remotely up to 3 days per week. [1]"
WRONG = "Eligible employees may work remotely up to 4 days per week. [1]"
OFF_TOPIC = "Who won the world cup in 1998?"
PASSAGE = "You may work remotely 3 days per week."
SERVED = "You may work remotely 3 days per week. [1]"


@dataclass(frozen=True)
class RunningGateway:
    url: str
    inner: Gateway
    loop: asyncio.AbstractEventLoop

    @property
    def base(self) -> str:
        """The base URL for an OpenAI client."""
        return f"{self.url}/v1"

    def client(self, key: str = "any", **options: Any) -> OpenAI:
        return OpenAI(base_url=self.base, api_key=key, max_retries=0, timeout=PATIENCE, **options)

    def async_client(self, key: str = "any") -> AsyncOpenAI:
        return AsyncOpenAI(base_url=self.base, api_key=key, max_retries=0, timeout=PATIENCE)

    def post(self, path: str, body: Any, **options: Any) -> httpx2.Response:
        return httpx2.post(f"{self.base}{path}", json=body, timeout=PATIENCE, **options)

    def chat(self, question: str = QUESTION, **more: Any) -> Any:
        return self.client().chat.completions.create(
            model="any", messages=[{"role": "user", "content": question}], **more
        )


def routes(route: RouteSettings | Mapping[str, RouteSettings], **server: Any) -> Settings:
    """Settings with one or several routes. The upstream is asked for drafts only: its replies are
    scripted in order."""
    named = {"default": route} if isinstance(route, RouteSettings) else dict(route)
    search = SearchSettings(rewrite="never")
    for name, one in named.items():
        if one.own is not None:
            named[name] = replace(one, own=replace(one.own, search=search))
    return Settings(search=search, server=replace(ServerSettings(), routes=named, **server))


@contextmanager
def running(
    library: Library, settings: Settings, host: str = "127.0.0.1", stop: float = 4
) -> Iterator[RunningGateway]:
    """`host` is the address that the app assumes; it always listens on loopback. Without settings
    for the monitor it is off: its rounds and deep checks would disturb tests of other things."""
    if settings.monitor == MonitorSettings():
        settings = replace(settings, monitor=MonitorSettings(enabled=False))
    app = create_app(settings, library, host=host)
    with served(app, replace(settings.server, shutdown_seconds=stop)) as (url, loop):
        yield RunningGateway(url, app.state.gateway, loop)


@contextmanager
def served(
    app: ASGIApp, settings: ServerSettings
) -> Iterator[tuple[str, asyncio.AbstractEventLoop]]:
    """Any app on loopback, in its own thread; yields its URL and event loop."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    server = uvicorn.Server(config_of(app, settings))
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve([listening])

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", loops[0]
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def plays(upstream: ScriptedUpstream, *replies: Reply) -> None:
    """Set a new script for a running upstream."""
    upstream.requests.clear()
    upstream.keys.clear()
    upstream.left.clear()
    upstream.script = replies


def use_checks(route: Route, checks: Sequence[Check]) -> None:
    """The route runs these checks instead of its own, for every caller."""
    vars(route.assembly)["checks"] = lambda *_, **__: tuple(checks)
