"""The app factory. There is no global state, so several apps can run in one process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from suffice.access.keys import Role
from suffice.errors import StoreError
from suffice.evidence.library import Library
from suffice.server import documents as documents
from suffice.server.anthropic.messages import FORMAT as ANTHROPIC
from suffice.server.anthropic.messages import messages
from suffice.server.auth import entered, needs_no_role
from suffice.server.council import Council
from suffice.server.endpoints import (
    Health,
    MonitorCollector,
    Readiness,
    check,
    feedback,
    gate,
    guarantee,
    monitor,
    review,
)
from suffice.server.errors import JSON_TYPE, ApiError, encode
from suffice.server.gateway import Gateway
from suffice.server.models_endpoint import embeddings, model, models
from suffice.server.openai.chat import chat, completions
from suffice.server.openai.responses import responses
from suffice.server.openapi import document
from suffice.server.request import as_response, endpoint
from suffice.server.sending import LocalRedirects
from suffice.server.telemetry.logs import access_log
from suffice.server.telemetry.metrics import Metrics, metrics_for, usage_watch
from suffice.server.telemetry.tracing import Traced, watch_spans
from suffice.server.ui.app import NAV, ui_routes
from suffice.server.ui.site import Site
from suffice.settings import Settings

_EXPOSED = (
    *("x-suffice-verdict", "x-suffice-record", "x-request-id", "retry-after"),
    *(
        f"x-ratelimit-{part}-{what}"
        for part in ("limit", "remaining", "reset")
        for what in ("requests", "tokens")
    ),
)


class Cors:
    """Wraps the app in CORS middleware, which is rebuilt when the settings change. If no origins
    are listed, no CORS headers are sent."""

    def __init__(self, app: ASGIApp, origins: Callable[[], Sequence[str]]) -> None:
        self._app = app
        self._origins = origins
        self._current: tuple[Sequence[str], ASGIApp] = ((), app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if _is_site(scope.get("path", "")):
            await self._app(scope, receive, send)
            return
        origins = self._origins()
        if origins != self._current[0]:
            self._current = (origins, self._middleware(origins) if origins else self._app)
        await self._current[1](scope, receive, send)

    def _middleware(self, origins: Sequence[str]) -> ASGIApp:
        return CORSMiddleware(
            self._app,
            allow_origins=list(origins),
            allow_methods=["GET", "POST", "DELETE"],
            # SDKs send headers of their own (`x-stainless-…`, `anthropic-version`), new versions
            # more of them. A browser adds no credentials by itself: cookies are not allowed.
            allow_headers=["*"],
            expose_headers=list(_EXPOSED),
        )


def _is_site(path: str) -> bool:
    """Whether a path is that of a page: other sites' scripts may not read pages, whichever origins
    may call the API. A route may be called `ui`."""
    return path == "/ui" or (path.startswith("/ui/") and not path.startswith("/ui/v1/"))


def create_app(
    settings: Settings,
    library: Library,
    *,
    host: str = "127.0.0.1",
    more: Sequence[BaseRoute] = (),
) -> Starlette:
    """Create the ASGI app for a library. `host` is the address to bind to: only a gateway on a
    loopback address may run without keys. `more` adds routes from other packages."""
    gateway = Gateway(library, settings, host)
    watched = (MonitorCollector(lambda: gateway.monitor),)
    metrics = Metrics(gateway.work, lambda: gateway.breakers, watched)
    site = Site(gateway, NAV)
    logged = access_log(lambda: gateway.state.settings.server.log_text)
    gateway.watches += [metrics.watch, logged, watch_spans, usage_watch(gateway.ledger)]

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        gateway.webhooks.start()
        if gateway.monitoring is not None:
            gateway.monitoring.start()
        try:
            yield
        finally:
            await gateway.work.drain(gateway.state.settings.server.shutdown_seconds)
            site.close()
            await gateway.close()
            metrics.close()

    api = [
        Route("/chat/completions", endpoint(chat, Role.CALLER), methods=["POST"]),
        Route("/completions", endpoint(completions, Role.CALLER), methods=["POST"]),
        Route("/responses", endpoint(responses, Role.CALLER), methods=["POST"]),
        Route("/messages", endpoint(messages, Role.CALLER, errors=ANTHROPIC), methods=["POST"]),
        Route("/embeddings", endpoint(embeddings, Role.CALLER), methods=["POST"]),
        Route("/models", endpoint(models, Role.CALLER)),
        Route("/models/{model:path}", endpoint(model, Role.CALLER)),
        Route("/gate", endpoint(gate, Role.CALLER), methods=["POST"]),
        Route("/check", endpoint(check, Role.CALLER), methods=["POST"]),
        Route("/feedback", endpoint(feedback, Role.CALLER, Role.REVIEWER), methods=["POST"]),
        Route("/reviews/{record}", endpoint(review, Role.CALLER, Role.REVIEWER)),
        Route("/guarantee", endpoint(guarantee, Role.CALLER, Role.VIEWER)),
        Route("/monitor", endpoint(monitor, Role.CALLER, Role.VIEWER)),
        Route("/documents", endpoint(documents.list_, Role.LIBRARIAN)),
        Route("/documents", endpoint(documents.add, Role.LIBRARIAN), methods=["POST"]),
        Route("/documents/reindex", endpoint(documents.reindex, Role.LIBRARIAN), methods=["POST"]),
        Route("/documents/{name:path}", endpoint(documents.show, Role.LIBRARIAN)),
        Route(
            "/documents/{name:path}", endpoint(documents.retire, Role.LIBRARIAN), methods=["DELETE"]
        ),
        Route("/council/vote", endpoint(Council().vote, Role.CALLER), methods=["POST"]),
    ]
    app = Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/openapi.json", openapi),
            Route("/metrics", metrics_for(lambda: gateway.authenticator, metrics)),
            *more,
            Mount("/v1", routes=api),
            Mount("/{route}/v1", routes=api),
            *([Mount("/ui", routes=ui_routes(site))] if settings.server.site.enabled else []),
        ],
        middleware=[
            Middleware(LocalRedirects),
            Middleware(Traced),
            Middleware(Cors, origins=lambda: gateway.state.settings.server.cors.origins),
        ],
        exception_handlers={HTTPException: _http_error},
        lifespan=life,
    )
    app.state.gateway = gateway
    app.state.site = site
    app.state.health = Health(gateway)
    return app


@needs_no_role
async def healthz(request: Request) -> Response:
    """Liveness probe: the process is running."""
    return as_response({"status": "ok"})


@needs_no_role
async def readyz(request: Request) -> Response:
    """Readiness probe: the gateway is not shutting down, its queue is not full, its store is
    writable, its disk has space, and the collections it searches have documents or accept uploads
    (reported in `conditions`). Authenticated callers also get the routes they may call and the
    state of their circuit breakers."""
    gateway: Gateway = request.app.state.gateway
    if gateway.work.closing:
        return ApiError(503, "The gateway is shutting down.", "shutting_down").response
    if gateway.work.full:
        return ApiError(503, "The gateway is busy.", "overloaded").response
    state: Readiness = await request.app.state.health.readiness()
    if failed := state.failed:
        why = f"Not ready: {', '.join(failed)}."
        body = {**ApiError(503, why, "not_ready").body, "failed": dict(failed)}
        return Response(encode(body), 503, media_type=JSON_TYPE)
    status = {"status": "ready"} | (
        {"conditions": dict(state.conditions)} if state.conditions else {}
    )
    try:
        caller = await entered(gateway.authenticator, request.headers)
    except (ApiError, StoreError):
        return as_response(status)
    named = [name for name, route in gateway.state.routes.items() if gateway.may(caller, route)]
    breakers = {name: states for name, states in gateway.breakers.items() if name in named}
    upstreams = {"upstreams": breakers} if breakers else {}
    return as_response({**status, "routes": sorted(named), **upstreams})


@needs_no_role
async def openapi(request: Request) -> Response:
    """The OpenAPI document."""
    return as_response(document())


async def _http_error(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    messages = {404: f"Not found: {request.url.path}.", 405: "Method not allowed."}
    headers = dict(getattr(problem, "headers", None) or {})
    return ApiError(
        status,
        messages.get(status, "The request cannot be processed."),
        "not_found",
        headers=headers,
    ).response
