"""The MCP server over streamable HTTP, with the gateway's keys at its door."""

from __future__ import annotations

import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from suffice.record.principals import Principals
from suffice.record.usage import Usage
from suffice.server.callers import ANYONE, Door, Limits, entered, is_local
from suffice.server.connection import bound, config_of
from suffice.server.desk import Asking, Desk
from suffice.server.fault import Fault
from suffice.server.mcp import CALLER
from suffice.server.run import Listening
from suffice.settings import LimitSettings, ServerSettings


@dataclass(frozen=True, slots=True)
class Guarded:
    """Lets in who has a key, within its limits, and tells the server who it is."""

    app: ASGIApp
    door: Door
    limits: Limits
    general: LimitSettings
    collection: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with ExitStack() as stack:
            try:
                who = await self._enter(Headers(scope=scope), stack)
            except Fault as fault:
                await fault.response(scope, receive, send)
                return
            # Without a key the caller is the one that the server was started for.
            named = {} if who is None else {CALLER: who}
            await self.app({**scope, **named}, receive, send)

    async def _enter(self, headers: Headers, stack: ExitStack) -> Asking | None:
        caller = await entered(self.door, headers)
        if not caller.may_use(self.collection):
            raise Fault(403, "This key has no right to these documents.", "no_right")
        stack.enter_context(self.limits.at_once(caller, self.general))
        await self.limits.count(caller, self.general)
        return None if caller is ANYONE else Asking(caller.name, caller.labels, by_key=True)


def http_app(server: MCPServer[Any], desk: Desk, settings: ServerSettings, host: str) -> Guarded:
    """Each request stands for itself: no session is kept, so any process can answer it."""
    app = server.streamable_http_app(
        stateless_http=True, max_request_body_size=settings.limits.body_bytes, host=host
    )
    needed = settings.keys == "required" or not is_local(host)
    database = desk.library.store.database
    door, limits = Door(Principals(database), open=not needed), Limits(Usage(database))
    return Guarded(app, door, limits, settings.limits, desk.collection)


def serve_http(
    server: MCPServer[Any], desk: Desk, settings: ServerSettings, host: str, port: int
) -> None:
    """Serves until it is stopped."""
    listening = Listening(bound(host, port))
    app = http_app(server, desk, settings, host)
    print(f"Suffice serves {listening.url}/mcp{_needed(app)}", file=sys.stderr, flush=True)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config_of(app, settings)).run([listening.socket])


def _needed(app: Guarded) -> str:
    if app.door.open:
        return "; no key is asked for, since it is reached from this machine alone."
    none = "" if app.door.principals.all() else ", and there is none yet: suffice keys create NAME"
    return f"; every request needs a key{none}."
