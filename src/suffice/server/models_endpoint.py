"""`GET /v1/models` and `POST /v1/embeddings`: forwarded to the upstream. Of its replies, only the
documented fields are passed on, each with a value of its type; no text of the upstream leaves."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.responses import Response

from suffice.models.wire.endpoint import CallFailed
from suffice.server.errors import ApiError, bad
from suffice.server.openai.reply import usage_of
from suffice.server.openai.upstream import UpstreamFault
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import LARGE, cancel_on_disconnect, offload

_NONE = "This route has no upstream for embeddings."
_NAME = re.compile(r"[\w@~][\w.:/@+~=,#()\[\]-]{0,199}")
_MODELS = 2_000
"""Largest number of models that are listed."""
_LATEST = 1 << 53
"""The largest integer that every JSON parser reads exactly."""
_DIMENSIONS, _LARGEST = 65_536, 1e9


async def models(context: RequestContext) -> Response:
    """List the models of all routes that the caller may call: mapped models, or the upstream's."""
    named = context.request.path_params.get("route", "")
    gateway, caller = context.gateway, context.caller
    routes = [gateway.route(named, None, caller)] if named else list(gateway.state.routes.values())
    entries: dict[str, dict[str, Any]] = {}
    for route in routes:
        if not gateway.may(caller, route):
            continue
        names = list(route.settings.models) or [route.settings.model or ""]
        if names == [""] and route.upstream is not None:
            try:
                listed = await route.upstream.get("models")
            except UpstreamFault:  # the models cannot be listed but can still be requested by name
                listed = {}
            data = listed.get("data")
            for entry in map(_listed, data[:_MODELS] if isinstance(data, list) else ()):
                if entry is not None:
                    entries.setdefault(entry["id"], entry)
            continue
        for name in names:
            entry = _model(name or _own(route), route.name)
            entries.setdefault(entry["id"], entry)
    return as_response({"object": "list", "data": list(entries.values())[:_MODELS]})


def _model(name: str, route: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "suffice", "route": route}


def _listed(raw: Any) -> dict[str, Any] | None:
    """A model as the upstream describes it; `None` if its id is no name."""
    if not isinstance(raw, dict) or not (name := _name(raw.get("id"))):
        return None
    created = raw.get("created")
    plausible = type(created) is int and 0 <= created <= _LATEST
    owner = _name(raw.get("owned_by")) or "upstream"
    return {
        "id": name,
        "object": "model",
        "created": created if plausible else 0,
        "owned_by": owner,
    }


def _name(value: Any) -> str:
    return value if isinstance(value, str) and _NAME.fullmatch(value) else ""


async def model(context: RequestContext) -> Response:
    """Show a model."""
    name = context.request.path_params["model"]
    route = context.gateway.route(
        context.request.path_params.get("route", ""), name, context.caller
    )
    upstream_name = route.model(name)
    if upstream_name in (".", ".."):  # in a URL these would change the path
        raise ApiError(404, f"The model '{name}' does not exist.", "model_not_found", "model")
    if route.upstream is not None and not route.settings.models:
        try:
            entry = _listed(await route.upstream.get(f"models/{quote(upstream_name, safe='')}"))
        except UpstreamFault as problem:
            raise problem.fault from None
        if entry is None:
            raise _unexpected()
        return as_response(entry)
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
    given = body.get("input")
    if not isinstance(given, str | list) or not given:
        raise bad("'input' must be a string or a list of strings, and not empty.", "input")
    sent = {**body, "model": route.model(body.get("model"))}
    try:
        reply = await cancel_on_disconnect(
            context.request.receive, route.upstream.ask(sent, "embeddings")
        )
    except UpstreamFault as problem:
        raise problem.fault from None
    usage = usage_of(reply)
    context.spent(usage, route.settings.price_in)
    # A list of numbers is one text in tokens.
    texts = len(given) if isinstance(given, list) and not isinstance(given[0], int) else 1
    try:
        vectors = await offload(LARGE + 1, _vectors, reply, texts, body.get("encoding_format"))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _unexpected() from None
    entries = [
        {"object": "embedding", "index": n, "embedding": vector} for n, vector in enumerate(vectors)
    ]
    counts = {name: usage[name] for name in ("prompt_tokens", "total_tokens")}
    name = _name(reply.get("model")) or sent["model"]
    return as_response({"object": "list", "data": entries, "model": name, "usage": counts})


def _vectors(reply: Mapping[str, Any], texts: int, encoding: Any) -> list[list[float] | str]:
    """The vectors of so many texts, in their order; as text in base64 only where it is `wanted`.
    Raise an error if one is missing or has a value that is no finite number."""
    rows = {row.get("index"): row.get("embedding") for row in reply["data"]}
    if len(reply["data"]) != texts or rows.keys() != set(range(texts)):
        raise ValueError
    vectors = [rows[n] for n in range(texts)]
    sizes = {_size(vector, encoding == "base64") for vector in vectors}
    if len(sizes) != 1 or not 0 < max(sizes) <= _DIMENSIONS:
        raise ValueError
    return vectors


def _size(vector: Any, encoded: bool) -> int:
    if isinstance(vector, str) and encoded:
        vector = np.frombuffer(base64.b64decode(vector, validate=True), "<f4").tolist()
    if not isinstance(vector, list):
        raise ValueError
    if not all(type(value) in (int, float) and abs(value) < _LARGEST for value in vector):
        raise ValueError
    return len(vector)


def _unexpected() -> ApiError:
    why = "The upstream returned no answer: its reply has an unexpected form."
    return UpstreamFault(CallFailed(why)).fault
