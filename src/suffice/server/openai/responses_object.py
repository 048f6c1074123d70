"""Build OpenAI's response object from a decided choice."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from suffice.log.record import new_id
from suffice.server.openai.completion import Choice, sufficiency_of

Item = dict[str, Any]
_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}


def response_object(
    body: Mapping[str, Any], model: str, choice: Choice, usage: Mapping[str, Any]
) -> dict[str, Any]:
    """The complete response object."""
    return {**framed(body, model), **settled(items_of(choice), choice, usage)}


def framed(body: Mapping[str, Any], model: str) -> dict[str, Any]:
    """A response object without output."""
    return {
        "id": f"resp_{new_id()}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": model,
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "temperature": body.get("temperature"),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p"),
        "usage": None,
    }


def settled(output: Sequence[Item], choice: Choice, usage: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are set at the end of a response."""
    cut = _CUT.get(choice.finish)
    return {
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "output": list(output),
        "usage": {
            "input_tokens": usage.get("prompt_tokens") or 0,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": usage.get("completion_tokens") or 0,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.get("total_tokens") or 0,
        },
        "suffice": choice.suffice,
        "sufficiency": sufficiency_of(choice),
    }


def items_of(choice: Choice) -> list[Item]:
    """The output items of a choice: a message, tool calls, or both."""
    parts = [text_part(choice.content)] if choice.content else []
    parts += [refusal_part(choice.refusal)] if choice.refusal else []
    items = [message_item(parts)] if parts else []
    return items + [call_item(one) for one in calls_of(choice.message)]


def message_item(parts: Sequence[Item] = ()) -> Item:
    message = {"id": f"msg_{new_id()}", "type": "message", "role": "assistant"}
    return {**message, "status": "completed", "content": list(parts)}


def text_part(text: str) -> Item:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def refusal_part(text: str) -> Item:
    return {"type": "refusal", "refusal": text}


def call_item(call: Mapping[str, Any]) -> Item:
    function = call.get("function")
    function = function if isinstance(function, dict) else {}
    return {
        "id": f"fc_{new_id()}",
        "type": "function_call",
        "call_id": call.get("id"),
        "name": function.get("name"),
        "arguments": function.get("arguments") or "",
        "status": "completed",
    }


def calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = message.get("tool_calls")
    return [one for one in calls if isinstance(one, dict)] if isinstance(calls, list) else []


def as_completion(response: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an upstream's response object to a chat completion, so that it can be checked."""
    output = response.get("output")
    items = [one for one in output if isinstance(one, dict)] if isinstance(output, list) else []
    called = any(str(one.get("type")).endswith("_call") for one in items)
    parts = [
        {"text": part.get("text") or part.get("refusal")}
        for item in items
        if item.get("type") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
        if isinstance(part, dict)
    ]
    has_text = any(part["text"] for part in parts)
    finish = "length" if response.get("status") == "incomplete" else "stop"
    message = {"content": parts, **({"tool_calls": items} if called and not has_text else {})}
    usage = response.get("usage")
    used = usage if isinstance(usage, dict) else {}
    return {
        "model": response.get("model"),
        "choices": [{"message": message, "finish_reason": finish}] if items else [],
        "usage": {
            "prompt_tokens": used.get("input_tokens"),
            "completion_tokens": used.get("output_tokens"),
            "total_tokens": used.get("total_tokens"),
        },
    }
