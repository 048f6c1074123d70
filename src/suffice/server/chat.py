"""`POST /v1/chat/completions`: OpenAI's API, with nothing unverified in its answers."""

from __future__ import annotations

from starlette.responses import Response

from suffice.server.answering import Answered, Answering
from suffice.server.asked import Asked, read_asked
from suffice.server.drafts import content_of, estimated, usage_of
from suffice.server.fault import bad
from suffice.server.reply import completion, headers_of
from suffice.server.route import Route
from suffice.server.sending import while_there
from suffice.server.shadow import passed_through, shadow_headers
from suffice.server.streaming import streamed
from suffice.server.ungrounded import ungrounded
from suffice.server.visit import Visit, as_response
from suffice.server.voice import ChatVoice

_PLAIN = "What writes on this route writes plain text; use a route whose upstream is an endpoint."


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
        return await streamed(visit, route, asked, answer, ChatVoice(asked))
    answered = await while_there(visit.request, answer(visit, route, asked))
    whole = completion(answered.raw, asked.model, answered.choices, answered.usage)
    return as_response(whole, headers_of(answered.choices))


async def answer(visit: Visit, route: Route, asked: Asked) -> Answered:
    """The answer of a route, decided."""
    if asked.structured and not route.url:
        raise bad(_PLAIN, "response_format")
    work, caller = visit.house.work, visit.caller
    if not route.settings.grounding:
        answered = await ungrounded(route, caller, asked, work)
    else:
        answering = Answering(route, caller, asked, work)
        answered = await answering.whole()
        visit.seen.timings = answering.timings
    visit.seen.verdicts += [one.verdict for one in answered.choices if one.verdict]
    visit.seen.gates += [one.gate for one in answered.choices if one.gate]
    used = answered.usage
    if answered.raw is not None and not used.get("total_tokens"):
        said = [one for one in answered.raw["choices"] if isinstance(one, dict)]
        used = estimated(asked.body, sum(len(content_of(one)) for one in said))
    visit.spent(used, route.settings.price_in, route.settings.price_out)
    return answered


async def _in_shadow(visit: Visit, route: Route, asked: Asked) -> Response:
    answering = Answering(
        route, visit.caller, asked, visit.house.work, as_drafted=True, marks=False
    )
    raw, verdicts = await while_there(visit.request, passed_through(answering))
    visit.seen.verdicts += verdicts
    visit.spent(usage_of(raw), route.settings.price_in, route.settings.price_out)
    return as_response(raw, shadow_headers(verdicts))
