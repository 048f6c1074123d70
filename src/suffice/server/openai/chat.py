"""`POST /v1/chat/completions`: OpenAI's API with verified answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from suffice.models.chat import text_in
from suffice.server.errors import bad
from suffice.server.openai.answering import Answered, Answering
from suffice.server.openai.completion import completion, headers_of
from suffice.server.openai.modes import (
    is_small_talk_turn,
    passed_through,
    shadow_headers,
    small_talk_answer,
    ungrounded,
)
from suffice.server.openai.request import ChatRequest, read_asked
from suffice.server.openai.stream import streamed
from suffice.server.openai.stream_format import ChatFormat
from suffice.server.openai.upstream_drafts import content_of, estimated, usage_of
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import offload, while_there

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


_UNSUPPORTED = ("suffix", "echo", "logprobs")


async def completions(context: RequestContext) -> Response:
    body = await context.object()
    route = context.gateway.route(
        context.request.path_params.get("route", ""), body.get("model"), context.caller
    )
    context.stats.route = route.name
    limits = context.gateway.state.settings.server.limits
    asked = await offload(context.stats.received, read_asked, as_chat(body), route.settings, limits)
    context.stats.stream = asked.stream
    route.model(body.get("model"))
    if asked.stream:
        return await streamed(context, route, asked, answer, ChatFormat(asked, as_text))
    if route.settings.shadow:
        return await in_shadow(context, route, asked, as_text)
    answered = await while_there(context.request, answer(context, route, asked))
    return await offload(answered.size, _responded_as_text, asked, answered)


def _responded_as_text(asked: ChatRequest, answered: Answered) -> Response:
    whole = completion(answered.raw, asked.model, answered.choices, answered.usage)
    return as_response(as_text(whole), headers_of(answered.choices))


def as_chat(body: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a request body: the prompt becomes a user message."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise bad("'prompt' must be a string or a list of one string.", "prompt")
    for name in _UNSUPPORTED:
        if body.get(name):
            raise bad(f"'{name}' is not supported.", name)
    if body.get("best_of") not in (None, 1, body.get("n")):
        raise bad("'best_of' must be 1 or equal to 'n'.", "best_of")
    apart = ("prompt", "best_of", *_UNSUPPORTED)
    chat = {name: value for name, value in body.items() if name not in apart}
    return {**chat, "messages": [{"role": "user", "content": prompt}]}


def as_text(whole: Mapping[str, Any]) -> dict[str, Any]:
    """A chat completion, or a chunk of one, in the legacy format."""
    choices = whole.get("choices")
    found = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    named = str(whole.get("id") or "").replace("chatcmpl-", "cmpl-")
    return {**whole, "id": named, "object": "text_completion", "choices": [*map(_choice, found)]}


def _choice(choice: Mapping[str, Any]) -> dict[str, Any]:
    said = choice.get("delta") or choice.get("message")
    ours = {"suffice": choice["suffice"]} if "suffice" in choice else {}
    return {
        "index": choice.get("index") or 0,
        "text": text_in(said) if isinstance(said, dict) else "",
        "logprobs": None,
        "finish_reason": choice.get("finish_reason"),
        **ours,
    }
