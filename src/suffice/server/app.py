"""The app, made by a factory: nothing is global, and two of them can live side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from suffice.errors import StoreError
from suffice.evidence.library import Library
from suffice.server.callers import entered
from suffice.server.chat import chat
from suffice.server.cors import Cors
from suffice.server.council_vote import Council
from suffice.server.fault import Fault
from suffice.server.house import House
from suffice.server.judging import check, feedback, gate
from suffice.server.logs import access_log
from suffice.server.metrics import Metrics, metrics_for
from suffice.server.models import embeddings, model, models
from suffice.server.openapi import document
from suffice.server.responses import responses
from suffice.server.spans import Traced, watch_spans
from suffice.server.visit import as_response, served
from suffice.settings import Settings


def create_app(
    settings: Settings,
    library: Library,
    *,
    host: str = "127.0.0.1",
    more: Sequence[BaseRoute] = (),
) -> Starlette:
    """The gateway over a library. `host` is the address it is bound to: only on this machine alone
    it asks for no key. `more` are further routes, of other rooms."""
    house = House(library, settings, host)
    metrics = Metrics(house.work)
    logged = access_log(lambda: house.state.settings.server.log_text)
    house.watches += [metrics.watch, logged, watch_spans]

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await house.work.drain(house.state.settings.server.stop)
            await house.close()
            metrics.close()

    api = [
        Route("/chat/completions", served(chat), methods=["POST"]),
        Route("/responses", served(responses), methods=["POST"]),
        Route("/embeddings", served(embeddings), methods=["POST"]),
        Route("/models", served(models)),
        Route("/models/{model:path}", served(model)),
        Route("/gate", served(gate), methods=["POST"]),
        Route("/check", served(check), methods=["POST"]),
        Route("/feedback", served(feedback), methods=["POST"]),
        Route("/council/vote", served(Council().vote), methods=["POST"]),
    ]
    app = Starlette(
        routes=[
            Route("/healthz", healthz),
            Route("/readyz", readyz),
            Route("/openapi.json", openapi),
            Route("/metrics", metrics_for(lambda: house.door, metrics)),
            *more,
            Mount("/v1", routes=api),
            Mount("/{route}/v1", routes=api),
        ],
        middleware=[
            Middleware(Traced),
            Middleware(Cors, origins=lambda: house.state.settings.server.cors.origins),
        ],
        exception_handlers={HTTPException: _no_such},
        lifespan=life,
    )
    app.state.house = house
    return app


async def healthz(request: Request) -> Response:
    """The process is alive."""
    return as_response({"status": "ok"})


async def readyz(request: Request) -> Response:
    """It can take requests: it is not shutting down, and there is room. Who may come in is told
    the routes it may call."""
    house: House = request.app.state.house
    if house.work.closing:
        return Fault(503, "The gateway is shutting down.", "shutting_down").response
    if house.work.full:
        return Fault(503, "The gateway is busy.", "overloaded").response
    try:
        caller = await entered(house.door, request.headers)
    except (Fault, StoreError):
        return as_response({"status": "ready"})
    named = [name for name, one in house.state.routes.items() if house.may(caller, one)]
    return as_response({"status": "ready", "routes": sorted(named)})


async def openapi(request: Request) -> Response:
    """What there is to call, for tools that read OpenAPI."""
    return as_response(document())


async def _no_such(request: Request, problem: Exception) -> Response:
    status = problem.status_code if isinstance(problem, HTTPException) else 500
    said = {404: f"There is no {request.url.path} here.", 405: "Not by this method."}
    headers = dict(getattr(problem, "headers", None) or {})
    return Fault(
        status, said.get(status, "It cannot be done."), "not_found", headers=headers
    ).response
