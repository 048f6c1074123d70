"""Streams, by the mode of their route: held back until the verdict, or signalled as they flow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.server.answering import Answered, Answering
from suffice.server.asked import Asked
from suffice.server.chunks import chunks
from suffice.server.drafts import usage_of
from suffice.server.fault import Fault, fault_of
from suffice.server.flow import Ending, Flow
from suffice.server.reply import UNVERIFIED, Choice, completion, passed_on
from suffice.server.route import Route
from suffice.server.sending import Events, while_there
from suffice.server.shadow import judged
from suffice.server.signal import Signal
from suffice.server.telling import Telling
from suffice.server.told import forwarded
from suffice.server.ungrounded import marked
from suffice.server.upstream import UpstreamFault
from suffice.server.visit import Visit
from suffice.server.wire import DONE, event

Answers = Callable[[Visit, Route, Asked], Coroutine[Any, Any, Answered]]
_USAGE = {"include_usage": True}


async def streamed(visit: Visit, route: Route, asked: Asked, answer: Answers) -> Response:
    """A stream; what fails before its first event is told by its status."""
    settings = route.settings
    if route.url and (settings.shadow or not settings.grounding):
        ending = Shadowed(visit, route, asked) if settings.shadow else Marked(visit, route, asked)
        body = forwarded(asked.body, route.model(asked.body.get("model")))
        return await _flowing(visit, route, asked, ending, body)
    if route.url and settings.mode == "signal":
        return await _signalled(visit, route, asked, answer)
    return await buffered(visit, answer(visit, route, asked), partial(_told, asked))


async def _signalled(visit: Visit, route: Route, asked: Asked, answer: Answers) -> Response:
    answering = Answering(route, visit.caller, asked, visit.house.work, as_drafted=True)
    pipeline, trip, closed = await while_there(visit.request, answering.begun())
    visit.seen.timings = answering.timings
    if closed is not None:
        visit.seen.verdicts.append(closed)
        return _at_once(visit, asked, answering.refused(closed))
    if pipeline.closed(trip) is not None:
        # A model that may call tools: nothing of what it says instead may flow.
        return await buffered(visit, answer(visit, route, asked), partial(_told, asked))
    body = await visit.house.work.run(answering.told, trip)
    signal = Signal(answering, pipeline, trip, visit.seen.verdicts)
    try:
        return await _flowing(visit, route, asked, signal, body)
    except Fault:
        raise
    except UpstreamFault as problem:
        return _at_once(visit, asked, await answering.instead(pipeline, trip, problem))


async def _flowing(
    visit: Visit, route: Route, asked: Asked, ending: Ending, body: dict[str, Any]
) -> Response:
    assert route.upstream is not None
    options, shadow = asked.body.get("stream_options") or {}, isinstance(ending, Shadowed)
    body = {**body, "stream": True}
    if not shadow or options:
        body["stream_options"] = options if shadow else {**options, **_USAGE}
    flow = Flow(route.upstream, body, ending, asked.usage, untouched=shadow)
    try:
        first = await while_there(visit.request, flow.first())
    except UpstreamFault as problem:
        await flow.stop()
        if isinstance(ending, Signal):
            raise
        raise problem.fault from None
    except BaseException:
        await flow.stop()
        raise
    keep_alive = visit.house.state.settings.server.keep_alive

    def count() -> None:
        used = usage_of({"usage": flow.spent})
        visit.spent(used, route.settings.price_in, route.settings.price_out)

    visit.stack.callback(count)
    return Events(flow.events(first), keep_alive)


def _at_once(visit: Visit, asked: Asked, answered: Answered) -> Response:
    """A stream of what is decided already."""
    keep_alive = visit.house.state.settings.server.keep_alive
    return Events(_told(asked, answered), keep_alive)


async def _told(asked: Asked, answered: Answered) -> AsyncIterator[bytes]:
    whole = completion(answered.raw, asked.model, answered.choices, answered.usage)
    for one in chunks(whole, answered.choices, usage=asked.usage):
        yield event(one)
    yield DONE


async def buffered(
    visit: Visit,
    answer: Coroutine[Any, Any, Answered],
    told: Callable[[Answered], AsyncIterator[bytes]],
) -> Response:
    """Nothing is sent before the verdict. What fails before the first comment is due is told by its
    status; after that, inside the stream."""
    keep_alive = visit.house.state.settings.server.keep_alive
    task: asyncio.Future[Answered] = asyncio.ensure_future(answer)
    try:
        await while_there(visit.request, _wait(task, keep_alive))
    except BaseException:
        task.cancel()
        raise
    if task.done():
        task.result()
    return Events(_once_decided(task, told), keep_alive)


async def _wait(task: asyncio.Future[Answered], seconds: float) -> None:
    await asyncio.wait({task}, timeout=seconds)


async def _once_decided(
    task: asyncio.Future[Answered], told: Callable[[Answered], AsyncIterator[bytes]]
) -> AsyncIterator[bytes]:
    try:
        answered = await task
    except Fault as fault:
        yield event(fault.said)
        return
    except SufficeError as problem:
        yield event(fault_of(problem).said)
        return
    finally:
        task.cancel()
    async for one in told(answered):
        yield one


@dataclass(frozen=True, slots=True)
class Marked:
    """A stream of chat without documents: its last words are that it is unverified."""

    visit: Visit
    route: Route
    asked: Asked

    async def heard(self, telling: Telling, flow: Flow) -> None:
        """Nothing is checked."""

    async def ended(self, telling: Telling, flow: Flow) -> tuple[str, Choice]:
        one = telling.written((), str(flow.base.get("model") or ""), structured=False)
        if one.draft is None:
            return "", passed_on(one.choice, None)
        visit = self.visit
        choice = await marked(self.route, visit.caller, self.asked, one, visit.house.work)
        if choice.verdict:
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
        choice = {"message": {"content": telling.text}, "finish_reason": telling.finish}
        visit.seen.verdicts += await judged(answering, {"choices": [choice]})
        return "", Choice(None, None, telling.finish or "stop")
