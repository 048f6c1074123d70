"""`GET /v1/models` and `POST /v1/embeddings`: forwarded to the upstream."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from suffice.server.errors import ApiError, bad
from suffice.server.openai.upstream import UpstreamFault
from suffice.server.openai.upstream_drafts import usage_of
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import while_there

_NONE = "This route has no upstream for embeddings."


async def models(context: RequestContext) -> Response:
    """List the models of all routes that the caller may call: mapped models, or the upstream's."""
    named = context.request.path_params.get("route", "")
    gateway, caller = context.gateway, context.caller
    routes = [gateway.route(named, None, caller)] if named else list(gateway.state.routes.values())
    found: dict[str, dict[str, Any]] = {}
    for route in routes:
        if not gateway.may(caller, route):
            continue
        names = list(route.settings.models) or [route.settings.model or ""]
        if names == [""] and route.upstream is not None:
            try:
                listed = await route.upstream.get("models")
            except UpstreamFault:  # the models cannot be listed but can still be requested by name
                listed = {}
            for one in listed.get("data") or ():
                if isinstance(one, dict) and isinstance(one.get("id"), str):
                    found.setdefault(one["id"], one)
            continue
        for name in names:
            entry = _model(name or _own(route), route.name)
            found.setdefault(entry["id"], entry)
    return as_response({"object": "list", "data": list(found.values())})


def _model(name: str, route: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "suffice", "route": route}


async def model(context: RequestContext) -> Response:
    """Show a model."""
    name = context.request.path_params["model"]
    route = context.gateway.route(
        context.request.path_params.get("route", ""), name, context.caller
    )
    known = route.model(name)
    if known in (".", ".."):  # in a URL these would change the path
        raise ApiError(404, f"The model '{name}' does not exist.", "model_not_found", "model")
    if route.upstream is not None and not route.settings.models:
        try:
            return as_response(await route.upstream.get(f"models/{quote(known, safe='')}"))
        except UpstreamFault as problem:
            raise problem.fault from None
    if not route.settings.models and name != (route.settings.model or _own(route)):
        raise ApiError(404, f"The model '{name}' does not exist.", "model_not_found", "model")
    return as_response(_model(name, route.name))


def _own(route: Route) -> str:
    """The model name of a built-in drafter."""
    return f"suffice-{route.own.draft.llm}"


async def embeddings(context: RequestContext) -> Response:
    body = await context.object()
    route = context.gateway.route(
        context.request.path_params.get("route", ""), body.get("model"), context.caller
    )
    context.stats.route = route.name
    if route.upstream is None:
        raise ApiError(404, _NONE, "no_upstream")
    if not isinstance(body.get("input"), str | list):
        raise bad("'input' must be a string or a list of strings.", "input")
    sent = {**body, "model": route.model(body.get("model"))}
    try:
        made = await while_there(context.request, route.upstream.ask(sent, "embeddings"))
    except UpstreamFault as problem:
        raise problem.fault from None
    context.spent(usage_of(made), route.settings.price_in)
    return as_response(made)
