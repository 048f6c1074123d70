"""`POST /v1/responses`: OpenAI's Responses API, with the same checks as chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from starlette.responses import Response

from suffice.errors import SufficeError
from suffice.models.wire.endpoint import CallFailed, Kind, message_of
from suffice.server.errors import ApiError, bad
from suffice.server.openai.answering import AnswerEndpoint
from suffice.server.openai.reply import usage_of
from suffice.server.openai.request import OURS, ChatRequest, read_request
from suffice.server.openai.responses_format import ResponsesFormat, as_completion
from suffice.server.openai.shadow import ShadowCall
from suffice.server.openai.upstream import RESPONSES, UpstreamFault
from suffice.server.request import RequestContext
from suffice.settings import LimitSettings, RouteSettings

Body = Mapping[str, Any]
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
    if response_format := _format(body.get("text")):
        chat["response_format"] = response_format
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
    messages: list[dict[str, Any]] = []
    for message in (_item(n, item) for n, item in enumerate(given)):
        calls, before = message.get("tool_calls"), messages[-1] if messages else {}
        if calls and before.get("tool_calls"):  # all calls of a turn belong in one message
            messages[-1] = {**before, "tool_calls": [*before["tool_calls"], *calls]}
        else:
            messages.append(message)
    return messages


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
    wanted_format = text.get("format") if isinstance(text, dict) else None
    if not isinstance(wanted_format, dict) or wanted_format.get("type") in (None, "text"):
        return None
    if wanted_format["type"] != "json_schema":
        return wanted_format
    schema = {key: value for key, value in wanted_format.items() if key != "type"}
    return {"type": "json_schema", "json_schema": schema}


_FAILED = "The upstream returned no answer: its response reports an error."


@dataclass(slots=True)
class ResponsesCall(ShadowCall):
    """A call for a response object, in shadow mode. One that breaks off is not judged."""

    path: str = RESPONSES
    _last: Body | None = None

    @property
    def body(self) -> Body:
        body = {key: value for key, value in self.original.items() if key != OURS}
        return {**body, "model": self.model} if self.model else body

    def completion_of(self, reply: Body) -> Body:
        return as_completion(reply)

    async def add(self, chunk: Body) -> None:
        response = chunk.get("response")
        if isinstance(response, dict) and response.get("error"):
            detail = message_of(response["error"])
            raise UpstreamFault(CallFailed(_FAILED, kind=Kind.FAILED, detail=detail))
        self._last = response if isinstance(response, dict) else self._last or {}

    @property
    def reported(self) -> Body:
        return self.usage()

    def usage(self) -> Body:
        return usage_of(as_completion(self._last or {}))

    def finish(self) -> Body | None:
        return None if self._last is None else as_completion(self._last)


def _read(body: Body, route: RouteSettings, limits: LimitSettings) -> ChatRequest:
    if not isinstance(body.get("stream"), bool | None):
        raise bad("'stream' must be true or false.", "stream")
    stream = bool(body.get("stream"))
    try:
        return replace(read_request(as_chat(body), route, limits), n=1, stream=stream)
    except (ApiError, SufficeError):
        if not route.shadow:
            raise
        # The upstream may be able to answer it, for example from a conversation that it stored.
        return ChatRequest(body, "", stream=stream, judged=False)


_RESPONSES = AnswerEndpoint(
    _read, lambda body, request: ResponsesFormat(body, request.model, request.events), ResponsesCall
)


async def responses(context: RequestContext) -> Response:
    return await _RESPONSES.respond(context)
