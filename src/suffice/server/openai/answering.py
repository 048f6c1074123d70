"""The state machine of an answer:

    open ─▶ drafts ─▶ decide, for each draft ─▶ released choices

Its basis (documents, none, or small talk) says what happens in each step, and its delivery how the
answer reaches the caller. Formats only render it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.server.errors import ApiError, bad, fault_of
from suffice.server.openai.completion import Answer, AnswerFormat, headers_of, noted
from suffice.server.openai.grounded import Grounded
from suffice.server.openai.reply import choices_in, content_of, estimated
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.shadow import Shadow, ShadowCall, shadow_headers
from suffice.server.openai.stream import StreamedAnswer
from suffice.server.openai.tool_calls import DROPPED
from suffice.server.openai.ungrounded import SmallTalk, Ungrounded, is_small_talk_turn
from suffice.server.openai.upstream import UpstreamFault
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import Emit, Events, cancel_on_disconnect, offload
from suffice.settings import LimitSettings, RouteSettings

Raw = Mapping[str, Any]
_TEXT_ONLY = (
    "This route writes plain text only. For 'response_format', use a route with an upstream."
)


class Delivery(StrEnum):
    """How an answer reaches the caller."""

    BUFFER = "buffer"
    """Whole, after its verdict."""
    SIGNAL = "signal"
    """As the upstream writes it, with findings as they are made and the verdict at its end."""
    SHADOW = "shadow"
    """As the upstream writes it, unchanged; the verdict is only recorded."""


def delivery_of(route: Route, request: ChatRequest) -> Delivery:
    """The delivery of an answer. Only what has a verdict by then can be structured, and whether a
    text is an answer or accompanies a tool call is only known at its end."""
    settings = route.settings
    if settings.shadow:
        return Delivery.SHADOW
    if not request.stream or route.upstream is None or request.structured:
        return Delivery.BUFFER
    if not settings.grounding:
        return Delivery.SIGNAL
    held = request.tools or is_small_talk_turn(route, request)
    return Delivery.SIGNAL if settings.streaming == "signal" and not held else Delivery.BUFFER


@dataclass(slots=True)
class Answering:
    """A request that is being answered."""

    context: RequestContext
    route: Route
    request: ChatRequest
    basis: Grounded | Ungrounded

    @classmethod
    def of(
        cls,
        context: RequestContext,
        route: Route,
        request: ChatRequest,
        delivery: Delivery = Delivery.BUFFER,
    ) -> Answering:
        if request.structured and route.upstream is None:
            raise bad(_TEXT_ONLY, "response_format")
        caller, work = context.caller, context.gateway.work
        basis: Grounded | Ungrounded
        if is_small_talk_turn(route, request):
            basis = SmallTalk(route, caller, request, work)
        elif not route.settings.grounding:
            basis = Ungrounded(route, caller, request, work)
        else:
            as_drafted = delivery is Delivery.SIGNAL
            basis = Grounded(route, caller, request, work, as_drafted=as_drafted)
        return cls(context, route, request, basis)

    async def whole(self) -> Answer:
        """The complete answer, with its verdicts; from the cache if it is enabled and has it."""
        work, cache = self.context.gateway.work, self.context.gateway.cache
        limits = self.context.gateway.state.settings.server.cache
        if not limits.enabled or self.request.tools or not isinstance(self.basis, Grounded):
            return await self._counted(await self._decided())
        key, answer = await work.run(cache.find, self.route, self.context.caller, self.request)
        self.context.stats.cache = "hit" if answer else "miss"
        if answer is None:
            answer = await self._decided()
            cache.keep(key, answer, limits)
        return await self._counted(answer)

    async def stream(self, answer_format: AnswerFormat, emit: Emit) -> None:
        """Emit the answer as the upstream writes it."""
        answer = await self.basis.open()
        self.context.stats.timings = self.basis.timings
        if answer is None:
            answer = await self._forward(answer_format, emit)
        if answer is not None:
            self.context.stats.verdicts += answer.verdicts
            await _emit_whole(answer, answer_format, emit)

    async def _forward(self, answer_format: AnswerFormat, emit: Emit) -> Answer | None:
        """Forward the draft; return an answer if another replaces it."""
        streamed = StreamedAnswer(
            self.context, self.route, self.request, self.basis, answer_format, emit
        )
        try:
            await streamed.run()
        except UpstreamFault as fault:
            if streamed.begun:
                raise
            return await self.basis.replace_failed(fault)
        return None

    async def stream_whole(self, answer_format: AnswerFormat, emit: Emit) -> None:
        """Emit the answer after its verdict."""
        await _emit_whole(await self.whole(), answer_format, emit)

    async def _decided(self) -> Answer:
        basis = self.basis
        answer = await basis.open()
        if answer is None:
            answer = await self._drafted()
        self.context.stats.timings = basis.timings
        return answer

    async def _drafted(self) -> Answer:
        basis = self.basis
        try:
            raw, drafts = await basis.drafts()
        except UpstreamFault as fault:
            return await basis.replace_failed(fault)
        choices = [await basis.decide(drafted) for drafted in drafts]
        if basis.dropped:
            choices = [noted(choice, DROPPED) for choice in choices]
        return Answer(choices, raw, basis.usage(raw or {}), basis.trace)

    async def _counted(self, answer: Answer) -> Answer:
        """Add an answer to the statistics, and its usage to the caller's limits."""
        context, settings = self.context, self.route.settings
        context.stats.verdicts += answer.verdicts
        context.stats.gates += [choice.gate for choice in answer.choices if choice.gate]
        usage = answer.usage
        if answer.raw is not None and not usage.get("total_tokens"):
            length = sum(len(content_of(choice)) for choice in choices_in(answer.raw))
            usage = await offload(context.stats.received, estimated, self.request.body, length)
        context.spent(usage, settings.price_in, settings.price_out)
        return answer


Produce = Callable[[Emit], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class AnswerEndpoint:
    """How an API reads a request and renders its answer, and its call to the upstream in shadow
    mode."""

    read: Callable[[Raw, RouteSettings, LimitSettings], ChatRequest]
    answer_format: Callable[[Raw, ChatRequest], AnswerFormat]
    shadow_call: type[ShadowCall] = ShadowCall

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
            call = self.shadow_call(body, request, model)
            return await _shadowed(Shadow(context, route, request, call), answer_format)
        answering = Answering.of(context, route, request, delivery)
        if not request.stream:
            answer = await cancel_on_disconnect(context.request.receive, answering.whole())
            return await offload(answer.size, _rendered, answer, answer_format)
        produce = answering.stream if delivery is Delivery.SIGNAL else answering.stream_whole
        return await _streamed(context, answer_format, partial(produce, answer_format))


async def _emit_whole(answer: Answer, answer_format: AnswerFormat, emit: Emit) -> None:
    await emit(await offload(answer.size, list, answer_format.whole_events(answer)))


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
    shown = await asyncio.to_thread(answer_format.passthrough, reply)
    return await asyncio.to_thread(as_response, shown, shadow_headers(verdicts))


async def _streamed(
    context: RequestContext, answer_format: AnswerFormat, produce: Produce
) -> Events:
    """A stream whose first event may take long. A failure before the first keep-alive event sets
    the HTTP status; a later one is reported as an event in the stream."""

    def on_error(problem: Exception) -> bytes | None:
        if isinstance(problem, UpstreamFault):
            return answer_format.on_error(problem.fault)
        known = isinstance(problem, ApiError | SufficeError)
        return answer_format.on_error(fault_of(problem)) if known else None

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
