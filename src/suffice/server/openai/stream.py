"""Stream an answer in the mode of its route: `buffer` holds the text until the verdict, `signal`
streams it at once and reports findings as they are made."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.server.errors import ApiError, fault_of
from suffice.server.offload import offload
from suffice.server.openai.answering import Answered, Answering, verification
from suffice.server.openai.completion import UNVERIFIED, Choice
from suffice.server.openai.flow import Ending, Flow
from suffice.server.openai.live_checks import LiveChecks
from suffice.server.openai.prompt import forwarded
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.shadow import judged, shadow_headers
from suffice.server.openai.small_talk import is_small_talk_turn
from suffice.server.openai.stream_format import StreamFormat
from suffice.server.openai.streamed_choice import StreamedChoice
from suffice.server.openai.ungrounded import marked
from suffice.server.openai.upstream import EMPTY, UpstreamFault
from suffice.server.openai.upstream_drafts import added, estimated, usage_of
from suffice.server.request import RequestContext
from suffice.server.route import Route
from suffice.server.sending import Events, while_there

Answers = Callable[[RequestContext, Route, ChatRequest], Coroutine[Any, Any, Answered]]
Sent = AsyncGenerator[bytes, None]
_USAGE = {"include_usage": True}


async def streamed(
    context: RequestContext,
    route: Route,
    asked: ChatRequest,
    answer: Answers,
    stream_format: StreamFormat,
) -> Response:
    """A streamed response. A failure before its first event sets the HTTP status."""
    settings = route.settings
    # JSON can be rendered only as a whole.
    whole = asked.structured and not settings.shadow
    if route.url and (settings.shadow or not settings.grounding) and not whole:
        ending = (
            Shadowed(context, route, asked) if settings.shadow else Marked(context, route, asked)
        )
        body = forwarded(asked.body, route.model(asked.body.get("model")))
        response = await opened(
            context, _flowing(context, route, asked, ending, body, stream_format), stream_format
        )
        response.headers.update(shadow_headers() if settings.shadow else {})
        return response
    # Whether a text is an answer or accompanies a tool call is only known at its end.
    buffered = asked.tools or whole or is_small_talk_turn(route, asked)
    if route.url and settings.streaming == "signal" and not buffered:
        return await _signalled(context, route, asked, stream_format)
    return await opened(
        context, _decided(answer(context, route, asked), stream_format), stream_format
    )


async def _signalled(
    context: RequestContext, route: Route, asked: ChatRequest, stream_format: StreamFormat
) -> Response:
    answering = Answering(route, context.caller, asked, context.gateway.work, as_drafted=True)
    pipeline, turn, closed = await while_there(context.request, answering.begun())
    context.stats.timings = answering.timings
    if closed is not None:
        context.stats.verdicts.append(closed)
        return await opened(
            context, _decided(_known(answering.refused(closed)), stream_format), stream_format
        )
    body = await context.gateway.work.run(answering.request_body, turn)
    signal = LiveChecks(answering, pipeline, turn, context.stats.verdicts)
    flowing = _flowing(context, route, asked, signal, body, stream_format)

    async def instead(problem: UpstreamFault) -> Answered:
        answered = await answering.instead(pipeline, turn, problem)
        context.stats.verdicts += [one.verdict for one in answered.choices[:1] if one.verdict]
        return answered

    return await opened(context, _or_instead(flowing, instead, stream_format), stream_format)


async def _flowing(
    context: RequestContext,
    route: Route,
    asked: ChatRequest,
    ending: Ending,
    body: dict[str, Any],
    stream_format: StreamFormat,
) -> Sent:
    assert route.upstream is not None
    options, shadow = asked.body.get("stream_options") or {}, isinstance(ending, Shadowed)
    body = {**body, "stream": True}
    if not shadow or options:
        body["stream_options"] = options if shadow else {**options, **_USAGE}
    offered = None if shadow else asked.offer.names
    flow = Flow(route.upstream, body, ending, stream_format, asked.n, asked.most, shadow, offered)
    if isinstance(ending, LiveChecks):
        flow.reading = partial(ending.turn.timings.measure, "draft")
    events = flow.events()
    try:
        async for one in events:
            yield one
    finally:
        await events.aclose()
        used = usage_of({"usage": flow.spent})
        if flow.streamed_choices and not used["total_tokens"]:
            length = sum(len(one.held) + len(one.text) for one in flow.streamed_choices.values())
            used = await offload(context.stats.received, estimated, body, length)
        if isinstance(ending, LiveChecks):
            used = added({"usage": used}, verification(ending.turn))
        context.spent(used, route.settings.price_in, route.settings.price_out)


async def _or_instead(
    flowing: Sent,
    instead: Callable[[UpstreamFault], Awaitable[Answered]],
    stream_format: StreamFormat,
) -> Sent:
    """The stream, or a replacement if the upstream fails before its first event."""
    begun = False
    try:
        async for one in flowing:
            begun = True
            yield one
    except UpstreamFault as problem:
        if begun:
            raise
        for one in stream_format.whole(await instead(problem)):
            yield one
    finally:
        await flowing.aclose()


async def _decided(answer: Coroutine[Any, Any, Answered], stream_format: StreamFormat) -> Sent:
    """Send the whole answer after the verdict."""
    answered = await answer
    for one in await offload(answered.size, list, stream_format.whole(answered)):
        yield one


async def _known(answered: Answered) -> Answered:
    return answered


async def opened(context: RequestContext, events: Sent, stream_format: StreamFormat) -> Response:
    """Start a stream whose first event may take long. A failure before the first keep-alive comment
    sets the HTTP status; a later one is reported as an event in the stream."""
    keep_alive = context.gateway.state.settings.server.keep_alive_seconds
    first: asyncio.Future[bytes] = asyncio.ensure_future(anext(events))
    try:
        await while_there(context.request, _wait(first, keep_alive))
        if first.done():
            first.result()
    except StopAsyncIteration:
        raise UpstreamFault(EMPTY).fault from None
    except UpstreamFault as problem:
        raise problem.fault from None
    except BaseException:
        await _stopped(first, events)
        raise
    return Events(_sent(first, events, stream_format), keep_alive, waiting=stream_format.waiting())


async def _wait(task: asyncio.Future[bytes], seconds: float) -> None:
    await asyncio.wait({task}, timeout=seconds)


async def _stopped(first: asyncio.Future[bytes], events: Sent) -> None:
    first.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await first
    await events.aclose()


async def _sent(first: asyncio.Future[bytes], events: Sent, stream_format: StreamFormat) -> Sent:
    try:
        yield await first
        async for one in events:
            yield one
    except UpstreamFault as problem:
        yield stream_format.fault(problem.fault)
    except ApiError as fault:
        yield stream_format.fault(fault)
    except SufficeError as problem:
        yield stream_format.fault(fault_of(problem))
    finally:
        await _stopped(first, events)


@dataclass(frozen=True, slots=True)
class Marked:
    """Ends a stream of chat without documents with a note that it is unverified."""

    context: RequestContext
    route: Route
    asked: ChatRequest

    async def heard(self, streamed_choice: StreamedChoice, flow: Flow) -> None:
        """Do nothing: no text is checked."""

    async def ended(self, streamed_choice: StreamedChoice, flow: Flow) -> tuple[str, Choice]:
        one = await offload(
            len(streamed_choice.text),
            streamed_choice.written,
            (),
            flow.model,
        )
        if one.draft is not None and not one.draft.text:
            raise UpstreamFault(EMPTY)
        context = self.context
        choice = await marked(self.route, context.caller, self.asked, one, context.gateway.work)
        if choice.verdict is None:
            return "", choice
        context.stats.verdicts.append(choice.verdict)
        if one.long:
            return f"\n\n{choice.verdict.reason}", replace(choice, finish="length")
        plain = self.route.settings.unverified_note == "suffice"
        return "" if plain else f"\n\n{UNVERIFIED}", choice


@dataclass(frozen=True, slots=True)
class Shadowed:
    """Adds nothing to a stream in shadow mode; the verdict is only recorded."""

    context: RequestContext
    route: Route
    asked: ChatRequest

    async def heard(self, streamed_choice: StreamedChoice, flow: Flow) -> None:
        """Do nothing: no finding is reported."""

    async def ended(self, streamed_choice: StreamedChoice, flow: Flow) -> tuple[str, Choice]:
        context = self.context
        answering = Answering(
            self.route,
            context.caller,
            self.asked,
            context.gateway.work,
            as_drafted=True,
            marks=False,
        )
        context.stats.verdicts += await judged(answering, {"choices": [streamed_choice.choice]})
        return "", Choice(None, None, streamed_choice.finish or "stop")
