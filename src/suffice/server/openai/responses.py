"""`POST /v1/responses`: OpenAI's Responses API, with the same checks as chat completions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.models.wire.endpoint import CallFailed, Kind, message_of
from suffice.server.errors import ApiError, bad
from suffice.server.openai.answering import Answered, Answering
from suffice.server.openai.chat import answer
from suffice.server.openai.completion import headers_of
from suffice.server.openai.modes import judged, shadow_headers
from suffice.server.openai.request import OURS, ChatRequest, read_asked
from suffice.server.openai.responses_format import ResponsesFormat, as_completion, response_object
from suffice.server.openai.stream import opened, streamed
from suffice.server.openai.upstream import RESPONSES, UpstreamFault
from suffice.server.openai.upstream_drafts import usage_of
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import offload, while_there
from suffice.types import Verdict

# Fields that chat completions name or format differently, or that need a stateful server.
_TRANSLATED = frozenset(
    "input instructions tools tool_choice text max_output_tokens reasoning store include "
    "previous_response_id conversation background truncation stream stream_options n".split()
)
_PARTS = ("input_text", "output_text", "text")


def as_chat(body: Mapping[str, Any]) -> dict[str, Any]:
    """Translate a request body; unknown fields are passed through unchanged."""
    for name in ("previous_response_id", "conversation"):
        if body.get(name):
            raise bad(
                "The gateway stores no conversations: send the whole conversation as 'input'.", name
            )
    if body.get("background"):
        raise bad("Background responses are not supported.", "background")
    chat = {key: value for key, value in body.items() if key not in _TRANSLATED}
    chat["messages"] = [*_instructions(body.get("instructions")), *_input(body.get("input"))]
    if isinstance(tools := body.get("tools"), list) and tools:
        chat["tools"] = [_tool(n, tool) for n, tool in enumerate(tools)]
    if (choice := body.get("tool_choice")) is not None:
        named = isinstance(choice, dict) and isinstance(choice.get("name"), str)
        chat["tool_choice"] = _function({"name": choice["name"]}) if named else choice
    if (most := body.get("max_output_tokens")) is not None:
        chat["max_completion_tokens"] = most
    if isinstance(reasoning := body.get("reasoning"), dict) and reasoning.get("effort"):
        chat["reasoning_effort"] = reasoning["effort"]
    if wanted := _format(body.get("text")):
        chat["response_format"] = wanted
    return chat


def _instructions(text: Any) -> list[dict[str, Any]]:
    if text is None:
        return []
    if not isinstance(text, str):
        raise bad("'instructions' must be a string.", "instructions")
    return [{"role": "system", "content": text}]


def _input(given: Any) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise bad("'input' must be a string or a non-empty list of items.", "input")
    found: list[dict[str, Any]] = []
    for message in (_item(n, item) for n, item in enumerate(given)):
        calls, before = message.get("tool_calls"), found[-1] if found else {}
        if calls and before.get("tool_calls"):  # all calls of a turn belong in one message
            found[-1] = {**before, "tool_calls": [*before["tool_calls"], *calls]}
        else:
            found.append(message)
    return found


def _item(n: int, item: Any) -> dict[str, Any]:
    kind = item.get("type", "message") if isinstance(item, dict) else None
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind == "function_call_output":
        output = item.get("output")
        content = output if isinstance(output, str) else _content(n, output)
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": content}
    if kind == "message":
        return {"role": item.get("role"), "content": _content(n, item.get("content"))}
    raise bad(f"Item {n} of 'input' has an unsupported type.", f"input[{n}]")


def _content(n: int, content: Any) -> Any:
    if not isinstance(content, list):
        return content
    parts = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _PARTS:
            parts.append({"type": "text", "text": part.get("text")})
        elif kind == "input_image":
            image = {"url": part.get("image_url"), "detail": part.get("detail") or "auto"}
            parts.append({"type": "image_url", "image_url": image})
        elif kind == "image_url":  # the format of chat completions
            parts.append(part)
        elif kind == "refusal":
            parts.append({"type": "text", "text": part.get("refusal")})
        else:
            raise bad(
                f"The content of item {n} has a part of an unsupported type.", f"input[{n}].content"
            )
    return parts


def _tool(n: int, tool: Any) -> dict[str, Any]:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        raise bad("Only tools of type 'function' are supported.", f"tools[{n}].type")
    return _function({key: value for key, value in tool.items() if key != "type"})


def _function(function: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": dict(function)}


def _format(text: Any) -> dict[str, Any] | None:
    wanted = text.get("format") if isinstance(text, dict) else None
    if not isinstance(wanted, dict) or wanted.get("type") in (None, "text"):
        return None
    if wanted["type"] != "json_schema":
        return wanted
    schema = {key: value for key, value in wanted.items() if key != "type"}
    return {"type": "json_schema", "json_schema": schema}


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


async def responses(context: RequestContext) -> Response:
    body = await context.object()
    if not isinstance(body.get("stream"), bool | None):
        raise bad("'stream' must be true or false.", "stream")
    stream = bool(body.get("stream"))
    route = context.gateway.route(
        context.request.path_params.get("route", ""), body.get("model"), context.caller
    )
    context.stats.route, context.stats.stream = route.name, stream
    model = route.model(body.get("model"))
    if route.settings.shadow:
        readable = await offload(context.stats.received, _readable, context, route, body)
        return await shadowed(context, route, body, model, readable)
    asked = await offload(context.stats.received, _asked, context, route, body)
    if stream:
        stream_format = ResponsesFormat(body, asked.model, asked.events)
        return await streamed(context, route, asked, answer, stream_format)
    answered = await while_there(context.request, answer(context, route, asked))
    return await offload(answered.size, _responded, body, asked, answered)


def _responded(body: Mapping[str, Any], asked: ChatRequest, answered: Answered) -> Response:
    whole = response_object(body, asked.model, answered.choices[0], answered.usage)
    return as_response(whole, headers_of(answered.choices))


def _asked(context: RequestContext, route: Route, body: Mapping[str, Any]) -> ChatRequest:
    limits = context.gateway.state.settings.server.limits
    return replace(read_asked(as_chat(body), route.settings, limits), n=1)


def _readable(context: RequestContext, route: Route, body: Mapping[str, Any]) -> ChatRequest | None:
    """The parsed request. In shadow mode, `None` if it cannot be judged; it is forwarded anyway."""
    try:
        return _asked(context, route, body)
    except (ApiError, SufficeError):
        return None
