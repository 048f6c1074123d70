"""An endpoint that answers: it reads a request, has it answered and renders the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.server.errors import ApiError, fault_of
from suffice.server.openai.answer_format import AnswerFormat
from suffice.server.openai.answering import Answering, Delivery, delivery_of
from suffice.server.openai.completion import Answer, headers_of
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.shadow import ChatCall, Shadow, ShadowCall, shadow_headers
from suffice.server.openai.upstream import UpstreamFault
from suffice.server.request import RequestContext, as_response
from suffice.server.sending import Emit, Events, cancel_on_disconnect, offload
from suffice.settings import LimitSettings, RouteSettings

Raw = Mapping[str, Any]
Produce = Callable[[Emit], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class AnswerEndpoint:
    """How an API reads a request and renders its answer. `shadow_call` is the call to the upstream
    in shadow mode, with the upstream's name for the model."""

    read: Callable[[Raw, RouteSettings, LimitSettings], ChatRequest]
    answer_format: Callable[[Raw, ChatRequest], AnswerFormat]
    shadow_call: Callable[[Raw, ChatRequest, str], ShadowCall] = lambda body, request, model: (
        ChatCall(request, model)
    )

    async def respond(self, context: RequestContext) -> Response:
        """Answer a request."""
        body = await context.object()
        named = context.request.path_params.get("route", "")
        route = context.gateway.route(named, body.get("model"), context.caller)
        context.stats.route = route.name
        limits = context.gateway.state.settings.server.limits
        size = context.stats.received
        request = await offload(size, self.read, body, route.settings, limits)
        context.stats.stream = request.stream
        model = route.model(body.get("model"))
        answer_format = self.answer_format(body, request)
        delivery = delivery_of(route, request)
        if delivery is Delivery.SHADOW:
            shadow = Shadow(context, route, request, self.shadow_call(body, request, model))
            return await _shadowed(shadow, answer_format)
        answering = Answering.of(context, route, request, delivery)
        if not request.stream:
            answer = await cancel_on_disconnect(context.request.receive, answering.whole())
            return await offload(answer.size, _rendered, answer, answer_format)
        produce = answering.stream if delivery is Delivery.SIGNAL else answering.stream_whole
        return await _streamed(context, answer_format, partial(produce, answer_format))


def _rendered(answer: Answer, answer_format: AnswerFormat) -> Response:
    return as_response(answer_format.whole(answer), headers_of(answer.choices))


async def _shadowed(shadow: Shadow, answer_format: AnswerFormat) -> Response:
    """A response with the upstream's reply; the headers have the verdict, unless it is
    streamed."""
    context = shadow.context
    if shadow.request.stream:
        produce = partial(shadow.stream, answer_format)
        response: Response = await _streamed(context, answer_format, produce)
        response.headers.update(shadow_headers())
        return response
    reply, verdicts = await cancel_on_disconnect(context.request.receive, shadow.whole())

    def rendered() -> Response:
        return as_response(answer_format.passthrough(reply), shadow_headers(verdicts))

    return await asyncio.to_thread(rendered)


async def _streamed(
    context: RequestContext, answer_format: AnswerFormat, produce: Produce
) -> Events:
    """A stream whose first event may take long. A failure before the first keep-alive event sets
    the HTTP status; a later one is reported as an event in the stream."""

    def on_error(problem: Exception) -> bytes | None:
        fault = _fault_of(problem)
        return None if fault is None else answer_format.on_error(fault)

    response = Events(
        produce,
        context.gateway.state.settings.server.keep_alive_seconds,
        keep_alive_event=answer_format.keep_alive,
        on_error=on_error,
    )
    try:
        await response.wait_for_first_event(context.request)
    except UpstreamFault as problem:
        raise problem.fault from None
    return response


def _fault_of(problem: Exception) -> ApiError | None:
    """The error for the caller; `None` for a bug."""
    if isinstance(problem, ApiError):
        return problem
    if isinstance(problem, UpstreamFault):
        return problem.fault
    return fault_of(problem) if isinstance(problem, SufficeError) else None
