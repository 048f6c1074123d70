"""Shadow of `/v1/responses`: request and reply go through as they are, by the upstream's own
`/responses`; what would have become of the answer is recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

from starlette.responses import Response

from suffice.server.answering import Answering
from suffice.server.asked import Asked
from suffice.server.drafts import usage_of
from suffice.server.response_object import as_completion
from suffice.server.response_voice import ResponseVoice
from suffice.server.route import Route
from suffice.server.sending import while_there
from suffice.server.shadow import judged, shadow_headers
from suffice.server.streaming import opened
from suffice.server.told import OURS
from suffice.server.upstream import RESPONSES, UpstreamFault
from suffice.server.visit import Visit, as_response
from suffice.server.wire import event
from suffice.types import Verdict

Body = Mapping[str, Any]


async def shadowed(
    visit: Visit, route: Route, body: Body, model: str, asked: Asked | None
) -> Response:
    """`asked`: the request as it can be judged; `None` where it cannot, as one that continues a
    conversation which only the upstream has."""
    assert route.upstream is not None
    sent = {key: value for key, value in body.items() if key != OURS}
    sent |= {"model": model} if model else {}
    if body.get("stream"):
        return await opened(visit, _events(visit, route, sent, asked), ResponseVoice(body, model))
    try:
        raw = await while_there(visit.request, route.upstream.ask(sent, RESPONSES))
    except UpstreamFault as problem:
        raise problem.fault from None
    verdicts = await while_there(visit.request, _judged(visit, route, raw, asked))
    return as_response(raw, shadow_headers(verdicts))


async def _events(
    visit: Visit, route: Route, sent: Body, asked: Asked | None
) -> AsyncGenerator[bytes, None]:
    assert route.upstream is not None
    last: Body = {}
    async with aclosing(route.upstream.events(sent, RESPONSES)) as events:
        async for value in events:
            whole = value.get("response")
            last = whole if isinstance(whole, dict) else last
            yield event(value, str(value.get("type") or ""))
    await _judged(visit, route, last, asked)


async def _judged(visit: Visit, route: Route, raw: Body, asked: Asked | None) -> list[Verdict]:
    told = as_completion(raw)
    settings = route.settings
    visit.spent(usage_of(told), settings.price_in, settings.price_out)
    if asked is None:
        return []
    answering = Answering(
        route, visit.caller, asked, visit.house.work, as_drafted=True, marks=False
    )
    verdicts = await judged(answering, told)
    visit.seen.verdicts += verdicts
    return verdicts
