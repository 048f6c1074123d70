"""Shadow mode of `/v1/responses`: forward requests unchanged to the upstream's `/responses`, return
its replies unchanged, and only record the verdict."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from starlette.responses import Response

from suffice.models.wire.failures import CallFailed, Kind, message_of
from suffice.server.openai.answering import Answering
from suffice.server.openai.prompt import OURS
from suffice.server.openai.request import ChatRequest
from suffice.server.openai.responses_format import ResponsesFormat
from suffice.server.openai.responses_object import as_completion
from suffice.server.openai.shadow import judged, shadow_headers
from suffice.server.openai.stream import opened
from suffice.server.openai.upstream import RESPONSES, UpstreamFault
from suffice.server.openai.upstream_drafts import usage_of
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import while_there
from suffice.types import Verdict

Body = Mapping[str, Any]
_FAILED = "The upstream returned no answer: its response reports an error."


async def shadowed(
    context: RequestContext, route: Route, body: Body, model: str, asked: ChatRequest | None
) -> Response:
    """Forward a request. `asked` is the parsed request, or `None` if it cannot be judged, for
    example because it continues a conversation that only the upstream knows."""
    assert route.upstream is not None
    sent = {key: value for key, value in body.items() if key != OURS}
    sent |= {"model": model} if model else {}
    if body.get("stream"):
        stream_format = ResponsesFormat(body, model)
        response = await opened(
            context, _events(context, route, sent, asked, stream_format), stream_format
        )
        response.headers.update(shadow_headers())
        return response
    try:
        raw = await while_there(context.request, route.upstream.ask(sent, RESPONSES))
    except UpstreamFault as problem:
        raise problem.fault from None
    verdicts = await while_there(context.request, _judged(context, route, raw, asked))
    return await asyncio.to_thread(as_response, raw, shadow_headers(verdicts))


async def _events(
    context: RequestContext,
    route: Route,
    sent: Body,
    asked: ChatRequest | None,
    stream_format: ResponsesFormat,
) -> AsyncGenerator[bytes, None]:
    assert route.upstream is not None
    last: Body = {}
    async with aclosing(route.upstream.events(sent, RESPONSES)) as events:
        async for value in events:
            whole = value.get("response")
            if isinstance(whole, dict) and whole.get("error"):
                detail = message_of(whole["error"])
                raise UpstreamFault(CallFailed(_FAILED, kind=Kind.FAILED, detail=detail))
            last = whole if isinstance(whole, dict) else last
            for one in stream_format.passed(value):
                yield one
    await _judged(context, route, last, asked)


async def _judged(
    context: RequestContext, route: Route, raw: Body, asked: ChatRequest | None
) -> list[Verdict]:
    completion = as_completion(raw)
    settings = route.settings
    context.spent(usage_of(completion), settings.price_in, settings.price_out)
    if asked is None:
        return []
    answering = Answering(
        route, context.caller, asked, context.gateway.work, as_drafted=True, marks=False
    )
    verdicts = await judged(answering, completion)
    context.stats.verdicts += verdicts
    return verdicts
