"""`POST /v1/responses`: OpenAI's newer API, with the same protection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.server.asked import Asked, read_asked
from suffice.server.chat import answer
from suffice.server.fault import Fault, bad
from suffice.server.reply import headers_of
from suffice.server.response_object import response_object
from suffice.server.response_voice import ResponseVoice
from suffice.server.route import Route
from suffice.server.sending import while_there
from suffice.server.shadow_responses import shadowed
from suffice.server.streaming import streamed
from suffice.server.translate import as_chat
from suffice.server.visit import Visit, as_response


async def responses(visit: Visit) -> Response:
    body = await visit.object()
    if not isinstance(body.get("stream"), bool | None):
        raise bad("'stream' is true or false.", "stream")
    stream = bool(body.get("stream"))
    route = visit.house.route(
        visit.request.path_params.get("route", ""), body.get("model"), visit.caller
    )
    visit.seen.route, visit.seen.stream = route.name, stream
    model = route.model(body.get("model"))
    if route.settings.shadow:
        return await shadowed(visit, route, body, model, _readable(visit, route, body))
    asked = _asked(visit, route, body)
    if stream:
        voice = ResponseVoice(body, asked.model, asked.events)
        return await streamed(visit, route, asked, answer, voice)
    answered = await while_there(visit.request, answer(visit, route, asked))
    whole = response_object(body, asked.model, answered.choices[0], answered.usage)
    return as_response(whole, headers_of(answered.choices))


def _asked(visit: Visit, route: Route, body: Mapping[str, Any]) -> Asked:
    limits = visit.house.state.settings.server.limits
    return replace(read_asked(as_chat(body), route.settings, limits), n=1)


def _readable(visit: Visit, route: Route, body: Mapping[str, Any]) -> Asked | None:
    """A request as far as it can be judged; in shadow, one that cannot goes on all the same."""
    try:
        return _asked(visit, route, body)
    except (Fault, SufficeError):
        return None
