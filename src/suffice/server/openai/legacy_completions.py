"""`POST /v1/completions`: OpenAI's legacy API, translated to and from chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from suffice.models.chat import text_in
from suffice.server.errors import bad
from suffice.server.offload import offload
from suffice.server.openai.answering import Answered
from suffice.server.openai.chat import answer, in_shadow
from suffice.server.openai.completion import completion, headers_of
from suffice.server.openai.request import ChatRequest, read_asked
from suffice.server.openai.stream import streamed
from suffice.server.openai.stream_format import ChatFormat
from suffice.server.request import RequestContext, as_response
from suffice.server.sending import while_there

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
    return await offload(answered.size, _responded, asked, answered)


def _responded(asked: ChatRequest, answered: Answered) -> Response:
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
