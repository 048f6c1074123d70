"""`POST /v1/responses`: OpenAI's newer API, with the same protection. Streams are held back until
the verdict."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from suffice.server.answering import Answered
from suffice.server.asked import read_asked
from suffice.server.chat import answer
from suffice.server.fault import Fault, bad
from suffice.server.reply import headers_of
from suffice.server.sending import while_there
from suffice.server.streaming import buffered
from suffice.server.translate import as_chat, as_response_object, response_events
from suffice.server.visit import Visit, as_response
from suffice.server.wire import event

_SHADOW = "A route in shadow serves chat completions only."


async def responses(visit: Visit) -> Response:
    body = await visit.object()
    if not isinstance(body.get("stream"), bool | None):
        raise bad("'stream' is true or false.", "stream")
    stream = bool(body.get("stream"))
    chat = as_chat(body)
    route = visit.house.route(
        visit.request.path_params.get("route", ""), body.get("model"), visit.caller
    )
    visit.seen.route, visit.seen.stream = route.name, stream
    if route.settings.shadow:
        raise Fault(400, _SHADOW, "shadow")
    asked = read_asked(chat, route.settings, visit.house.state.settings.server.limits)
    asked = replace(asked, n=1)
    route.model(body.get("model"))

    def whole(answered: Answered) -> dict[str, Any]:
        return as_response_object(body, asked.model, answered.choices[0], answered.usage)

    if not stream:
        answered = await while_there(visit.request, answer(visit, route, asked))
        return as_response(whole(answered), headers_of(answered.choices))

    async def told(answered: Answered) -> AsyncIterator[bytes]:
        for one in response_events(whole(answered)):
            yield event(one, one["type"])

    return await buffered(visit, answer(visit, route, asked), told)
