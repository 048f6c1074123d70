"""`POST /v1/messages`: Anthropic's Messages API, with the same checks as chat completions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.responses import Response

from suffice.log.record import new_id
from suffice.models.chat import content_in, text_in
from suffice.server.anthropic.translate import as_chat
from suffice.server.errors import ApiError, ErrorFormat, encode, event
from suffice.server.openai.answering import AnswerEndpoint
from suffice.server.openai.completion import Answer, ReleasedChoice, calls_of, sufficiency_of
from suffice.server.openai.reply import choices_in, usage_of
from suffice.server.openai.request import ChatRequest, read_request
from suffice.server.request import RequestContext
from suffice.settings import LimitSettings, RouteSettings

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


def message_object(model: str, choice: ReleasedChoice, usage: Mapping[str, Any]) -> dict[str, Any]:
    """The complete message, without a verdict."""
    return {
        **framed(model),
        "content": blocks_of(choice),
        "stop_reason": stop_reason(choice.finish, choice.refusal),
        "usage": anthropic_usage(usage),
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


def verdict_of(choice: ReleasedChoice) -> dict[str, Any]:
    return {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}


def anthropic_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    return {
        "input_tokens": usage.get("prompt_tokens") or 0,
        "output_tokens": usage.get("completion_tokens") or 0,
    }


def stop_reason(finish: str, refusal: str | None = None) -> str:
    return "refusal" if refusal else _REASONS.get(finish, "end_turn")


def blocks_of(choice: ReleasedChoice) -> list[Block]:
    """The content blocks: text and tool calls."""
    text = choice.content or choice.refusal
    blocks: list[Block] = [{"type": "text", "text": text}] if text else []
    return blocks + [tool_use(call) for call in calls_of(choice.message)]


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


def as_choice(reply: Mapping[str, Any]) -> ReleasedChoice:
    """The first choice of an upstream's completion, unchanged (for shadow mode)."""
    first = next(iter(choices_in(reply)), {})
    message = first.get("message")
    message = message if isinstance(message, dict) else {}
    refusal = message.get("refusal")
    return ReleasedChoice(
        content_in(message) or None,
        None,
        str(first.get("finish_reason") or "stop"),
        refusal if isinstance(refusal, str) else None,
        message,
    )


Raw = Mapping[str, Any]


@dataclass(slots=True)
class MessageFormat:
    """A message or its events. The verdict is in `message_delta`, and in `message_start` if it is
    known by then. Findings are sent in `ping` events, which clients must accept at any time."""

    model: str
    named: bool = False
    """Send findings as events with their own type."""
    keep_alive: bytes = PING
    _begun: bool = False
    _blocks: int = 0
    _open: bool = False
    """Whether the last block is a text block that is still open."""
    _calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Tool calls by index; they are sent at the end."""
    _choice: ReleasedChoice | None = None
    _finish: str = "stop"

    def whole(self, answer: Answer) -> Raw:
        choice = answer.choices[0]
        return {**message_object(self.model, choice, answer.usage), **verdict_of(choice)}

    def whole_events(self, answer: Answer) -> Iterator[bytes]:
        choice = answer.choices[0]
        yield from self._start(anthropic_usage(answer.usage), verdict_of(choice))
        yield from self._text(choice.content or choice.refusal or "")
        self._calls = dict(enumerate(map(dict, calls_of(choice.message))))
        self._choice = choice
        yield from self.on_stream_end(answer.usage)

    def on_chunk(self, chunk: Raw, parts: Sequence[Raw]) -> Iterator[bytes]:
        for part in parts:
            yield from self._delta(part["delta"])

    def on_finding(self, index: int, kind: str, finding: Raw) -> Iterator[bytes]:
        name = f"suffice.{kind}" if self.named else "ping"
        yield _event(name, suffice={kind: finding})

    def on_choice_end(self, index: int, text: str, choice: ReleasedChoice) -> Iterator[bytes]:
        yield from self._text(text)
        self._choice = choice

    def on_stream_end(self, usage: Raw) -> Iterator[bytes]:
        choice = self._choice
        assert choice is not None
        reason = stop_reason(choice.finish, choice.refusal)
        yield from self._end(reason, usage, verdict_of(choice))

    def on_error(self, fault: ApiError) -> bytes:
        return event(error_body(fault), "error")

    def passthrough(self, reply: Raw) -> Raw:
        return message_object(self.model, as_choice(reply), usage_of(reply))

    def passthrough_chunk(self, chunk: Raw) -> Iterator[bytes]:
        for choice in choices_in(chunk):
            delta = choice.get("delta") or choice.get("message")
            yield from self._delta(delta if isinstance(delta, dict) else {})
            self._finish = str(choice.get("finish_reason") or self._finish)

    def passthrough_end(self, usage: Raw) -> Iterator[bytes]:
        yield from self._end(stop_reason(self._finish), usage, {})

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

    def _start(self, usage: Raw | None = None, verdict: Raw | None = None) -> Iterator[bytes]:
        if self._begun:
            return
        self._begun = True
        message = {**framed(self.model), **({"usage": usage} if usage else {}), **(verdict or {})}
        yield _event("message_start", message=message)

    def _text(self, text: str) -> Iterator[bytes]:
        if not text:
            return
        yield from self._start()
        if not self._open:
            self._open = True
            yield self._at("content_block_start", content_block={"type": "text", "text": ""})
        yield self._at("content_block_delta", delta={"type": "text_delta", "text": text})

    def _end(self, reason: str, usage: Raw, verdict: Raw) -> Iterator[bytes]:
        yield from self._start()
        if self._open:
            yield self._stop()
        for _, call in sorted(self._calls.items()):
            yield from self._call(tool_use(call))
        delta = {"stop_reason": reason, "stop_sequence": None}
        yield _event("message_delta", delta=delta, usage=anthropic_usage(usage), **verdict)
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


def _read(body: Raw, route: RouteSettings, limits: LimitSettings) -> ChatRequest:
    chat = as_chat(body, grounded=route.grounding and not route.shadow)
    request = read_request(chat, route, limits)
    return replace(request, n=1, stream=bool(body.get("stream")))


_MESSAGES = AnswerEndpoint(
    _read, lambda body, request: MessageFormat(request.model, request.events)
)


async def messages(context: RequestContext) -> Response:
    return await _MESSAGES.respond(context)
