"""`POST /v1/messages`: Anthropic's Messages API, with the same checks as chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from starlette.responses import Response

from suffice.server.anthropic.message import as_choice, message_object
from suffice.server.anthropic.stream_format import MessageFormat
from suffice.server.anthropic.translate import as_chat
from suffice.server.offload import offload
from suffice.server.openai.answering import Answered
from suffice.server.openai.chat import answer, in_shadow
from suffice.server.openai.completion import headers_of
from suffice.server.openai.request import ChatRequest, read_asked
from suffice.server.openai.stream import streamed
from suffice.server.openai.upstream_drafts import usage_of
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import while_there


async def messages(context: RequestContext) -> Response:
    body = await context.object()
    route = context.gateway.route(
        context.request.path_params.get("route", ""), body.get("model"), context.caller
    )
    context.stats.route = route.name
    asked = await offload(context.stats.received, _asked, context, route, body)
    context.stats.stream = bool(body.get("stream"))
    route.model(body.get("model"))
    if context.stats.stream:
        stream_format = MessageFormat(asked.model, asked.events)
        return await streamed(context, route, asked, answer, stream_format)
    if route.settings.shadow:
        return await in_shadow(context, route, asked, partial(_unchecked, asked.model))
    answered = await while_there(context.request, answer(context, route, asked))
    return await offload(answered.size, _responded, asked, answered)


def _asked(context: RequestContext, route: Route, body: Mapping[str, Any]) -> ChatRequest:
    settings, limits = route.settings, context.gateway.state.settings.server.limits
    chat = as_chat(body, grounded=settings.grounding and not settings.shadow)
    return replace(read_asked(chat, settings, limits), n=1)


def _unchecked(model: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    return message_object(model, as_choice(raw), usage_of(raw), shadow=True)


def _responded(asked: ChatRequest, answered: Answered) -> Response:
    whole = message_object(asked.model, answered.choices[0], answered.usage)
    return as_response(whole, headers_of(answered.choices))
