"""`POST /v1/messages`: Anthropic's Messages API, with the same checks as chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from starlette.responses import Response

from suffice.log.entry import new_id
from suffice.models.chat import content_in, text_in
from suffice.server.anthropic.translate import as_chat
from suffice.server.errors import ApiError, ErrorFormat, encode, event
from suffice.server.openai.answering import Answered
from suffice.server.openai.chat import answer, in_shadow
from suffice.server.openai.completion import Choice, headers_of, sufficiency_of
from suffice.server.openai.request import ChatRequest, read_asked
from suffice.server.openai.stream import streamed
from suffice.server.openai.upstream_drafts import usage_of
from suffice.server.request import RequestContext, as_response
from suffice.server.route import Route
from suffice.server.sending import offload, while_there

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}
PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def error_body(fault: ApiError) -> dict[str, Any]:
    """The response body, with `code` and `param` from OpenAI's format."""
    other = "invalid_request_error" if fault.status < 500 else "api_error"
    error: dict[str, Any] = {"type": _TYPES.get(fault.status, other), "message": fault.message}
    named = {"code": fault.code, "param": fault.param}
    error |= {name: value for name, value in named.items() if value}
    return {"type": "error", "error": error}


FORMAT = ErrorFormat(error_body, "error")


Block = dict[str, Any]
_REASONS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "content_filter": "refusal",
}


def message_object(
    model: str, choice: Choice, usage: Mapping[str, Any], *, shadow: bool = False
) -> dict[str, Any]:
    """The complete message. In shadow mode it has no verdict."""
    return {
        **framed(model),
        "content": blocks_of(choice),
        "stop_reason": stop_reason(choice),
        "usage": anthropic_usage(usage),
        **({} if shadow else ours_of(choice)),
    }


def framed(model: str) -> dict[str, Any]:
    """An empty message."""
    return {
        "id": f"msg_{new_id()}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": anthropic_usage({}),
    }


def ours_of(choice: Choice) -> dict[str, Any]:
    return {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}


def anthropic_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    return {
        "input_tokens": usage.get("prompt_tokens") or 0,
        "output_tokens": usage.get("completion_tokens") or 0,
    }


def stop_reason(choice: Choice) -> str:
    return "refusal" if choice.refusal else _REASONS.get(choice.finish, "end_turn")


def blocks_of(choice: Choice) -> list[Block]:
    """The content blocks: text and tool calls."""
    text = choice.content or choice.refusal
    blocks: list[Block] = [{"type": "text", "text": text}] if text else []
    return blocks + [tool_use(one) for one in calls_of(choice.message)]


def calls_of(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The tool calls of a chat message, including a legacy `function_call`."""
    calls = message.get("tool_calls")
    found = [one for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []
    legacy = message.get("function_call")
    return [*found, {"function": legacy}] if isinstance(legacy, dict) else found


def tool_use(call: Mapping[str, Any]) -> Block:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return {
        "type": "tool_use",
        "id": call.get("id") or f"toolu_{new_id()}",
        "name": function.get("name") or "",
        "input": _input(function.get("arguments")),
    }


def _input(arguments: Any) -> dict[str, Any]:
    """The arguments as a JSON object, which this API requires."""
    try:
        value = json.loads(arguments or "{}")
    except (TypeError, ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"arguments": arguments}


def as_choice(raw: Mapping[str, Any]) -> Choice:
    """The first choice of an upstream's completion, unchanged (for shadow mode)."""
    choices = raw.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    first = first if isinstance(first, dict) else {}
    message = first.get("message")
    message = message if isinstance(message, dict) else {}
    refusal = message.get("refusal")
    return Choice(
        content_in(message) or None,
        None,
        str(first.get("finish_reason") or "stop"),
        refusal if isinstance(refusal, str) else None,
        message,
    )


Raw = Mapping[str, Any]


@dataclass(slots=True)
class MessageFormat:
    """Events of a message. The verdict is in `message_delta`, and in `message_start` if it is known
    by then. Findings are sent in `ping` events, which clients must accept at any time."""

    model: str
    named: bool = False
    """Send findings as events with their own type."""
    _begun: bool = False
    _blocks: int = 0
    _open: bool = False
    """Whether the last block is a text block that is still open."""
    _calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Tool calls by index; they are sent at the end."""
    _choice: Choice | None = None
    _finish: str = "stop"

    def heard(self, raw: Raw, going: Sequence[Raw]) -> Iterator[bytes]:
        for piece in going:
            yield from self._delta(piece["delta"])

    def found(self, index: int, kind: str, said: Raw) -> Iterator[bytes]:
        name = f"suffice.{kind}" if self.named else "ping"
        yield _event(name, suffice={kind: said})

    def ended(self, index: int, words: str, choice: Choice) -> Iterator[bytes]:
        yield from self._text(words)
        self._choice = choice

    def closed(self, spent: Raw) -> Iterator[bytes]:
        choice = self._choice or Choice(None, None, self._finish)
        yield from self._end(choice, spent, ours_of(choice))

    def whole(self, answered: Answered) -> Iterator[bytes]:
        choice = answered.choices[0]
        yield from self._start(anthropic_usage(answered.usage), ours_of(choice))
        yield from self._text(choice.content or choice.refusal or "")
        self._calls = dict(enumerate(map(dict, calls_of(choice.message))))
        yield from self._end(choice, answered.usage, ours_of(choice))

    def passed(self, raw: Raw) -> Iterator[bytes]:
        choices = raw.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict):
                continue
            delta = choice.get("delta") or choice.get("message")
            yield from self._delta(delta if isinstance(delta, dict) else {})
            self._finish = str(choice.get("finish_reason") or self._finish)

    def passed_end(self, spent: Raw) -> Iterator[bytes]:
        yield from self._end(Choice(None, None, self._finish), spent, {})

    def fault(self, fault: ApiError) -> bytes:
        return event(error_body(fault), "error")

    def waiting(self) -> bytes:
        return PING

    def _delta(self, delta: Raw) -> Iterator[bytes]:
        yield from self._text(text_in(delta))
        for n, call in enumerate(calls_of(delta)):
            index = call.get("index")
            self._join(index if isinstance(index, int) else n, call)

    def _join(self, index: int, call: Raw) -> None:
        """Append a chunk to a tool call."""
        held = self._calls.setdefault(index, {"id": None, "function": {}})
        held["id"] = held["id"] or call.get("id")
        function = call.get("function")
        for name, value in (function if isinstance(function, dict) else {}).items():
            if isinstance(value, str):
                held["function"][name] = held["function"].get(name, "") + value

    def _start(self, usage: Raw | None = None, ours: Raw | None = None) -> Iterator[bytes]:
        if self._begun:
            return
        self._begun = True
        message = {**framed(self.model), **({"usage": usage} if usage else {}), **(ours or {})}
        yield _event("message_start", message=message)

    def _text(self, text: str) -> Iterator[bytes]:
        if not text:
            return
        yield from self._start()
        if not self._open:
            self._open = True
            yield self._at("content_block_start", content_block={"type": "text", "text": ""})
        yield self._at("content_block_delta", delta={"type": "text_delta", "text": text})

    def _end(self, choice: Choice, spent: Raw, ours: Raw) -> Iterator[bytes]:
        yield from self._start()
        if self._open:
            yield self._stop()
        for _, call in sorted(self._calls.items()):
            yield from self._call(tool_use(call))
        delta = {"stop_reason": stop_reason(choice), "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=anthropic_usage(spent), **ours)
        yield _event("message_stop")

    def _call(self, block: Mapping[str, Any]) -> Iterator[bytes]:
        yield self._at("content_block_start", content_block={**block, "input": {}})
        given = encode(block["input"]).decode()
        yield self._at(
            "content_block_delta", delta={"type": "input_json_delta", "partial_json": given}
        )
        yield self._stop()

    def _stop(self) -> bytes:
        stopped = self._at("content_block_stop")
        self._open, self._blocks = False, self._blocks + 1
        return stopped

    def _at(self, kind: str, **more: Any) -> bytes:
        """An event for the current block."""
        return _event(kind, index=self._blocks, **more)


def _event(kind: str, **more: Any) -> bytes:
    return event({"type": kind, **more}, kind)


async def messages(context: RequestContext) -> Response:
    body = await context.object()
    route = context.gateway.route(
        context.request.path_params.get("route", ""), body.get("model"), context.caller
    )
    context.stats.route = route.name
    asked = await offload(context.stats.received, _asked, context, route, body)
    context.stats.stream = bool(body.get("stream"))
    route.model(body.get("model"))
    if context.stats.stream:
        stream_format = MessageFormat(asked.model, asked.events)
        return await streamed(context, route, asked, answer, stream_format)
    if route.settings.shadow:
        return await in_shadow(context, route, asked, partial(_unchecked, asked.model))
    answered = await while_there(context.request, answer(context, route, asked))
    return await offload(answered.size, _responded, asked, answered)


def _asked(context: RequestContext, route: Route, body: Mapping[str, Any]) -> ChatRequest:
    settings, limits = route.settings, context.gateway.state.settings.server.limits
    chat = as_chat(body, grounded=settings.grounding and not settings.shadow)
    return replace(read_asked(chat, settings, limits), n=1)


def _unchecked(model: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    return message_object(model, as_choice(raw), usage_of(raw), shadow=True)


def _responded(asked: ChatRequest, answered: Answered) -> Response:
    whole = message_object(asked.model, answered.choices[0], answered.usage)
    return as_response(whole, headers_of(answered.choices))
