"""`POST /v1/chat/completions`: OpenAI's API with verified answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from suffice.server.errors import bad
from suffice.server.offload import offload
from suffice.server.openai.answering import Answered, Answering
from suffice.server.openai.completion import completion, headers_of
from suffice.server.openai.request import ChatRequest, read_asked
from suffice.server.openai.shadow import passed_through, shadow_headers
from suffice.server.openai.small_talk import is_small_talk_turn, small_talk_answer
from suffice.server.openai.stream import streamed
from suffice.server.openai.stream_format import ChatFormat
from suffice.server.openai.ungrounded import ungrounded
from suffice.server.openai.upstream_drafts import content_of, estimated, usage_of
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import while_there

Raw = Mapping[str, Any]
_PLAIN = "This route writes plain text only. For 'response_format', use a route with an upstream."


async def chat(context: RequestContext) -> Response:
    body = await context.object()
    named = context.request.path_params.get("route", "")
    route = context.gateway.route(named, body.get("model"), context.caller)
    context.stats.route = route.name
    limits = context.gateway.state.settings.server.limits
    size = context.stats.received
    asked = await offload(size, read_asked, body, route.settings, limits)
    context.stats.stream = asked.stream
    route.model(body.get("model"))
    if route.settings.shadow and not asked.stream:
        return await in_shadow(context, route, asked)
    if asked.stream:
        return await streamed(context, route, asked, answer, ChatFormat(asked))
    answered = await while_there(context.request, answer(context, route, asked))
    return await offload(answered.size, _responded, asked, answered)


def _responded(asked: ChatRequest, answered: Answered) -> Response:
    whole = completion(answered.raw, asked.model, answered.choices, answered.usage)
    return as_response(whole, headers_of(answered.choices))


async def answer(context: RequestContext, route: Route, asked: ChatRequest) -> Answered:
    """Answer a request on a route, with verdicts."""
    if asked.structured and not route.url:
        raise bad(_PLAIN, "response_format")
    work, caller = context.gateway.work, context.caller
    if is_small_talk_turn(route, asked):
        answered = await small_talk_answer(route, caller, asked, work)
    elif not route.settings.grounding:
        answered = await ungrounded(route, caller, asked, work)
    else:
        answered = await _grounded(context, route, asked)
    context.stats.verdicts += [one.verdict for one in answered.choices if one.verdict]
    context.stats.gates += [one.gate for one in answered.choices if one.gate]
    used = answered.usage
    if answered.raw is not None and not used.get("total_tokens"):
        choices = [one for one in answered.raw["choices"] if isinstance(one, dict)]
        said = sum(len(content_of(one)) for one in choices)
        used = await offload(context.stats.received, estimated, asked.body, said)
    context.spent(used, route.settings.price_in, route.settings.price_out)
    return answered


async def _grounded(context: RequestContext, route: Route, asked: ChatRequest) -> Answered:
    """Answer from the documents, or from the cache if it is enabled and has the answer."""
    work, cache = context.gateway.work, context.gateway.cache
    limits = context.gateway.state.settings.server.cache
    key = ""
    if limits.enabled and not asked.tools:
        key, known = await work.run(cache.find, route, context.caller, asked)
        context.stats.cache = "hit" if known else "miss"
        if known is not None:
            return known
    answering = Answering(route, context.caller, asked, work)
    answered = await answering.whole()
    context.stats.timings = answering.timings
    if key:
        cache.keep(key, answered, limits)
    return answered


async def in_shadow(
    context: RequestContext,
    route: Route,
    asked: ChatRequest,
    shape: Callable[[Raw], Raw] = dict,
) -> Response:
    """The upstream's reply in the endpoint's format, with the verdict in the headers."""
    answering = Answering(
        route, context.caller, asked, context.gateway.work, as_drafted=True, marks=False
    )
    raw, verdicts = await while_there(context.request, passed_through(answering))
    context.stats.verdicts += verdicts
    context.spent(usage_of(raw), route.settings.price_in, route.settings.price_out)
    return await offload(_size(raw), _shown, shape, raw, shadow_headers(verdicts))


def _shown(shape: Callable[[Raw], Raw], raw: Raw, headers: dict[str, str]) -> Response:
    return as_response(shape(raw), headers)


def _size(raw: Raw) -> int:
    choices = raw.get("choices")
    found = choices if isinstance(choices, list) else ()
    return sum(len(content_of(one)) for one in found if isinstance(one, dict))
