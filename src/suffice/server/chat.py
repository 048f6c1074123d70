"""`POST /v1/chat/completions`: OpenAI's API, with nothing unverified in its answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.server.answering import Answered, Answering
from suffice.server.asked import Asked, read_asked
from suffice.server.chunks import chunks
from suffice.server.fault import Fault, fault_of
from suffice.server.reply import completion, headers_of
from suffice.server.route import Route
from suffice.server.sending import Events, while_there
from suffice.server.shadow import passed_through
from suffice.server.ungrounded import ungrounded
from suffice.server.visit import Visit, as_response
from suffice.server.wire import DONE, event


async def chat(visit: Visit) -> Response:
    body = await visit.object()
    named = visit.request.path_params.get("route", "")
    route = visit.house.route(named, body.get("model"), visit.caller)
    visit.seen.route = route.name
    limits = visit.house.state.settings.server.limits
    asked = read_asked(body, route.settings, limits)
    visit.seen.stream = asked.stream
    route.model(body.get("model"))
    if route.settings.shadow and not asked.stream:
        return await _in_shadow(visit, route, asked)
    if asked.stream:
        return await _streamed(visit, route, asked)
    answered = await while_there(visit.request, answer(visit, route, asked))
    whole = completion(answered.raw, _model(asked), answered.choices, answered.usage)
    return as_response(whole, headers_of(answered.choices))


async def answer(visit: Visit, route: Route, asked: Asked) -> Answered:
    """The answer of a route, decided."""
    work, caller = visit.house.work, visit.caller
    if not route.settings.grounding:
        answered = await ungrounded(route, caller, asked, work)
    else:
        answering = Answering(route, caller, asked, work)
        answered = await answering.whole()
        visit.seen.timings = answering.timings
    visit.seen.verdicts += [one.verdict for one in answered.choices if one.verdict]
    visit.spent(answered.usage, route.settings.price_in, route.settings.price_out)
    return answered


async def _in_shadow(visit: Visit, route: Route, asked: Asked) -> Response:
    answering = Answering(
        route, visit.caller, asked, visit.house.work, as_drafted=True, marks=False
    )
    raw, verdicts = await while_there(visit.request, passed_through(answering))
    visit.seen.verdicts += verdicts
    headers = {"x-suffice-shadow": "true"}
    if verdicts:
        headers["x-suffice-record"] = verdicts[0].record
        headers["x-suffice-verdict"] = verdicts[0].action.value
    return as_response(raw, headers)


async def _streamed(visit: Visit, route: Route, asked: Asked) -> Response:
    """Nothing is sent before the verdict. What fails before the first comment is due is told by its
    status; after that, inside the stream."""
    keep_alive = visit.house.state.settings.server.keep_alive
    task = asyncio.ensure_future(answer(visit, route, asked))
    try:
        await while_there(visit.request, _wait(task, keep_alive))
    except BaseException:
        task.cancel()
        raise
    if task.done():
        task.result()
    return Events(_buffered(task, asked), keep_alive)


async def _wait(task: asyncio.Future[Answered], seconds: float) -> None:
    await asyncio.wait({task}, timeout=seconds)


async def _buffered(task: asyncio.Future[Answered], asked: Asked) -> AsyncIterator[bytes]:
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
    whole = completion(answered.raw, _model(asked), answered.choices, answered.usage)
    for one in chunks(whole, answered.choices, usage=asked.usage):
        yield event(one)
    yield DONE


def _model(asked: Asked) -> str:
    model = asked.body.get("model")
    return model if isinstance(model, str) and model else "suffice"
