"""Build Anthropic's message object from a decided choice."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from suffice.log.record import new_id
from suffice.models.chat import content_in
from suffice.server.openai.completion import Choice, sufficiency_of

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
        "usage": usage_of(usage),
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
        "usage": usage_of({}),
    }


def ours_of(choice: Choice) -> dict[str, Any]:
    return {"suffice": choice.suffice, "sufficiency": sufficiency_of(choice)}


def usage_of(usage: Mapping[str, Any]) -> dict[str, int]:
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
