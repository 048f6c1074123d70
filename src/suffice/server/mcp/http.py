"""The MCP server over streamable HTTP, with the gateway's API keys."""

from __future__ import annotations

import asyncio
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from suffice.access.identity import Identities
from suffice.access.keys import Principals
from suffice.access.quotas import Usage
from suffice.errors import StoreError
from suffice.server.auth import ANYONE, Authenticator, address_of, identified, is_local
from suffice.server.errors import JSON_TYPE, ApiError, encode
from suffice.server.mcp.tools import CALLER, ToolCaller, Tools
from suffice.server.rate_limiter import RateLimiter, enforce, rate_headers
from suffice.server.request import whole_body
from suffice.server.run import Listening, bound, config_of
from suffice.server.sending import LocalRedirects
from suffice.settings import ServerSettings

_HEALTH, _READY = "/healthz", "/readyz"


@dataclass(frozen=True, slots=True)
class Guarded:
    """Authenticates each request, applies the key's limits, and passes the caller to the server.
    `/healthz` and `/readyz` need no key."""

    app: ASGIApp
    authenticator: Authenticator
    limits: RateLimiter
    settings: ServerSettings
    tools: Tools

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["path"] in (_HEALTH, _READY):
            await (await self._status(scope["path"]))(scope, receive, send)
            return
        limits: dict[str, str] = {}

        async def with_limits(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(limits)
            await send(message)

        with ExitStack() as stack:
            request = Request(scope, receive)
            try:
                who = await self._enter(request, stack, limits)
                received = await whole_body(request, self.settings.limits)
            except ApiError as fault:
                await fault.response(scope, receive, with_limits)
                return
            except ClientDisconnect:
                return
            # Without a key, the server's default caller applies.
            named = {} if who is None else {CALLER: who}
            await self.app({**scope, **named}, _replayed(received, receive), with_limits)

    async def _status(self, path: str) -> Response:
        """Answer `/healthz` and `/readyz`. Ready means that the collection has documents."""
        if path == _HEALTH:
            return Response(encode({"status": "ok"}), media_type=JSON_TYPE)
        store, collection = self.tools.library.store, self.tools.collection
        try:
            found = collection in await asyncio.to_thread(store.collections)
        except StoreError:
            return ApiError(503, "Not ready: the store cannot be read.", "not_ready").response
        if not found:
            why = f"Not ready: no documents in the collection '{collection}'. Run `suffice index`."
            return ApiError(503, why, "not_ready").response
        return Response(encode({"status": "ready"}), media_type=JSON_TYPE)

    async def _enter(
        self, request: Request, stack: ExitStack, limits: dict[str, str]
    ) -> ToolCaller | None:
        """Authenticate and admit the caller. The headers with its limits are added to `limits`."""
        general = self.settings.limits
        caller = await identified(self.authenticator, request.headers)
        if not caller.may_use(self.tools.collection):
            raise ApiError(403, "This key may not use this collection.", "no_right")
        address = address_of(request, self.settings.site.behind_proxy)
        share = self.settings.capacity.share
        stack.enter_context(self.limits.at_once(caller, general, address, share))
        admission = await self.limits.count(caller, general)
        limits |= rate_headers(admission.left)
        enforce(admission)
        if caller is ANYONE:
            return None
        return ToolCaller(caller.name, caller.labels, True, caller.user, caller.team, caller.roles)


def http_app(server: MCPServer[Any], tools: Tools, settings: ServerSettings, host: str) -> Guarded:
    """The ASGI app. It keeps no sessions, so any process can answer any request."""
    app = server.streamable_http_app(
        stateless_http=True, max_request_body_size=settings.limits.body_bytes, host=host
    )
    needed = settings.keys == "required" or not is_local(host)
    database = tools.library.store.database
    authenticator = Authenticator(
        Principals(database),
        not needed,
        settings.keyless_forwarded,
        Identities.of(tools.library.settings),
    )
    limits = RateLimiter(Usage(database))
    return Guarded(LocalRedirects(app), authenticator, limits, settings, tools)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Receives a body that was read already, then what follows it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def next_() -> Message:
        return messages.pop() if messages else await receive()

    return next_


def serve_http(
    server: MCPServer[Any], tools: Tools, settings: ServerSettings, host: str, port: int
) -> None:
    """Serve until interrupted."""
    listening = Listening(bound(host, port))
    app = http_app(server, tools, settings, host)
    print(f"Suffice serves {listening.url}/mcp{_needed(app)}", file=sys.stderr, flush=True)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config_of(app, settings)).run([listening.socket])


def _needed(app: Guarded) -> str:
    if app.authenticator.open:
        return ". No API key is required: the server accepts local connections only."
    if app.authenticator.principals.all():
        return ". Every request needs an API key."
    return ". Every request needs an API key, and none exists yet. Run: suffice keys create NAME"
