"""`POST /v1/responses`: OpenAI's Responses API, with the same checks as chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.server.errors import ApiError, bad
from suffice.server.offload import offload
from suffice.server.openai.answering import Answered
from suffice.server.openai.chat import answer
from suffice.server.openai.completion import headers_of
from suffice.server.openai.request import ChatRequest, read_asked
from suffice.server.openai.responses_format import ResponsesFormat
from suffice.server.openai.responses_object import response_object
from suffice.server.openai.responses_shadow import shadowed
from suffice.server.openai.responses_translate import as_chat
from suffice.server.openai.stream import streamed
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import while_there


async def responses(context: RequestContext) -> Response:
    body = await context.object()
    if not isinstance(body.get("stream"), bool | None):
        raise bad("'stream' must be true or false.", "stream")
    stream = bool(body.get("stream"))
    route = context.gateway.route(
        context.request.path_params.get("route", ""), body.get("model"), context.caller
    )
    context.stats.route, context.stats.stream = route.name, stream
    model = route.model(body.get("model"))
    if route.settings.shadow:
        readable = await offload(context.stats.received, _readable, context, route, body)
        return await shadowed(context, route, body, model, readable)
    asked = await offload(context.stats.received, _asked, context, route, body)
    if stream:
        stream_format = ResponsesFormat(body, asked.model, asked.events)
        return await streamed(context, route, asked, answer, stream_format)
    answered = await while_there(context.request, answer(context, route, asked))
    return await offload(answered.size, _responded, body, asked, answered)


def _responded(body: Mapping[str, Any], asked: ChatRequest, answered: Answered) -> Response:
    whole = response_object(body, asked.model, answered.choices[0], answered.usage)
    return as_response(whole, headers_of(answered.choices))


def _asked(context: RequestContext, route: Route, body: Mapping[str, Any]) -> ChatRequest:
    limits = context.gateway.state.settings.server.limits
    return replace(read_asked(as_chat(body), route.settings, limits), n=1)


def _readable(context: RequestContext, route: Route, body: Mapping[str, Any]) -> ChatRequest | None:
    """The parsed request. In shadow mode, `None` if it cannot be judged; it is forwarded anyway."""
    try:
        return _asked(context, route, body)
    except (ApiError, SufficeError):
        return None
