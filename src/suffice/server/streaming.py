"""Streams, by the mode of their route: held back until the verdict, or signalled as they flow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.server.answering import Answered, Answering
from suffice.server.asked import Asked
from suffice.server.drafts import estimated, usage_of
from suffice.server.fault import Fault, fault_of
from suffice.server.flow import Ending, Flow
from suffice.server.reply import UNVERIFIED, Choice
from suffice.server.route import Route
from suffice.server.sending import Events, while_there
from suffice.server.shadow import judged
from suffice.server.signal import Signal
from suffice.server.telling import Telling
from suffice.server.told import forwarded
from suffice.server.ungrounded import marked
from suffice.server.upstream import EMPTY, UpstreamFault
from suffice.server.visit import Visit
from suffice.server.voice import Voice

Answers = Callable[[Visit, Route, Asked], Coroutine[Any, Any, Answered]]
Sent = AsyncGenerator[bytes, None]
_USAGE = {"include_usage": True}


async def streamed(
    visit: Visit, route: Route, asked: Asked, answer: Answers, voice: Voice
) -> Response:
    """A stream; what fails before its first event is told by its status."""
    settings = route.settings
    if route.url and (settings.shadow or not settings.grounding):
        ending = Shadowed(visit, route, asked) if settings.shadow else Marked(visit, route, asked)
        body = forwarded(asked.body, route.model(asked.body.get("model")))
        return await opened(visit, _flowing(visit, route, asked, ending, body, voice), voice)
    # Whether a text is an answer, or stands beside a tool call, is known at its end only.
    if route.url and settings.mode == "signal" and not asked.tools:
        return await _signalled(visit, route, asked, voice)
    return await opened(visit, _decided(answer(visit, route, asked), voice), voice)


async def _signalled(visit: Visit, route: Route, asked: Asked, voice: Voice) -> Response:
    answering = Answering(route, visit.caller, asked, visit.house.work, as_drafted=True)
    pipeline, trip, closed = await while_there(visit.request, answering.begun())
    visit.seen.timings = answering.timings
    if closed is not None:
        visit.seen.verdicts.append(closed)
        return await opened(visit, _decided(_known(answering.refused(closed)), voice), voice)
    body = await visit.house.work.run(answering.told, trip)
    signal = Signal(answering, pipeline, trip, visit.seen.verdicts)
    flowing = _flowing(visit, route, asked, signal, body, voice)

    async def instead(problem: UpstreamFault) -> Answered:
        answered = await answering.instead(pipeline, trip, problem)
        visit.seen.verdicts += [one.verdict for one in answered.choices[:1] if one.verdict]
        return answered

    return await opened(visit, _or_instead(flowing, instead, voice), voice)


async def _flowing(
    visit: Visit, route: Route, asked: Asked, ending: Ending, body: dict[str, Any], voice: Voice
) -> Sent:
    assert route.upstream is not None
    options, shadow = asked.body.get("stream_options") or {}, isinstance(ending, Shadowed)
    body = {**body, "stream": True}
    if not shadow or options:
        body["stream_options"] = options if shadow else {**options, **_USAGE}
    flow = Flow(route.upstream, body, ending, voice, asked.n, untouched=shadow)
    events = flow.events()
    try:
        async for one in events:
            yield one
    finally:
        await events.aclose()
        used = usage_of({"usage": flow.spent})
        if flow.tellings and not used["total_tokens"]:
            told = sum(len(one.held) + len(one.text) for one in flow.tellings.values())
            used = estimated(body, told)
        visit.spent(used, route.settings.price_in, route.settings.price_out)


async def _or_instead(
    flowing: Sent, instead: Callable[[UpstreamFault], Awaitable[Answered]], voice: Voice
) -> Sent:
    """A stream, or what stands for it where the upstream fails before its first word."""
    begun = False
    try:
        async for one in flowing:
            begun = True
            yield one
    except UpstreamFault as problem:
        if begun:
            raise
        for one in voice.whole(await instead(problem)):
            yield one
    finally:
        await flowing.aclose()


async def _decided(answer: Coroutine[Any, Any, Answered], voice: Voice) -> Sent:
    """Nothing is sent before the verdict."""
    for one in voice.whole(await answer):
        yield one


async def _known(answered: Answered) -> Answered:
    return answered


async def opened(visit: Visit, events: Sent, voice: Voice) -> Response:
    """A stream whose first event may be long in coming. What fails before a comment is due is told
    by its status; after that, inside the stream."""
    keep_alive = visit.house.state.settings.server.keep_alive
    first: asyncio.Future[bytes] = asyncio.ensure_future(anext(events))
    try:
        await while_there(visit.request, _wait(first, keep_alive))
        if first.done():
            first.result()
    except StopAsyncIteration:
        raise UpstreamFault(EMPTY).fault from None
    except UpstreamFault as problem:
        raise problem.fault from None
    except BaseException:
        await _stopped(first, events)
        raise
    return Events(_told(first, events, voice), keep_alive)


async def _wait(task: asyncio.Future[bytes], seconds: float) -> None:
    await asyncio.wait({task}, timeout=seconds)


async def _stopped(first: asyncio.Future[bytes], events: Sent) -> None:
    first.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await first
    await events.aclose()


async def _told(first: asyncio.Future[bytes], events: Sent, voice: Voice) -> Sent:
    try:
        yield await first
        async for one in events:
            yield one
    except UpstreamFault as problem:
        yield voice.fault(problem.fault)
    except Fault as fault:
        yield voice.fault(fault)
    except SufficeError as problem:
        yield voice.fault(fault_of(problem))
    finally:
        await _stopped(first, events)


@dataclass(frozen=True, slots=True)
class Marked:
    """A stream of chat without documents: its last words are that it is unverified."""

    visit: Visit
    route: Route
    asked: Asked

    async def heard(self, telling: Telling, flow: Flow) -> None:
        """Nothing is checked."""

    async def ended(self, telling: Telling, flow: Flow) -> tuple[str, Choice]:
        one = telling.written((), flow.model, structured=self.asked.structured)
        if one.draft is not None and not one.draft.text:
            raise UpstreamFault(EMPTY)
        visit = self.visit
        choice = await marked(self.route, visit.caller, self.asked, one, visit.house.work)
        if choice.verdict is None:
            return "", choice
        visit.seen.verdicts.append(choice.verdict)
        return "" if self.asked.structured else f"\n\n{UNVERIFIED}", choice


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A stream to which nothing is added: what would have become of it is recorded."""

    visit: Visit
    route: Route
    asked: Asked

    async def heard(self, telling: Telling, flow: Flow) -> None:
        """Nothing is said of it."""

    async def ended(self, telling: Telling, flow: Flow) -> tuple[str, Choice]:
        visit = self.visit
        answering = Answering(
            self.route, visit.caller, self.asked, visit.house.work, as_drafted=True, marks=False
        )
        visit.seen.verdicts += await judged(answering, {"choices": [telling.choice]})
        return "", Choice(None, None, telling.finish or "stop")
