"""OpenAI's Responses API in the words of chat completions, and back.

One way through the house for both: what protects the one protects the other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from suffice.record.record import new_id
from suffice.server.fault import bad
from suffice.server.reply import Choice, sufficiency_of

# What has another name or shape there, or means something only on a server that keeps state.
_TRANSLATED = frozenset(
    "input instructions tools tool_choice text max_output_tokens reasoning store include "
    "previous_response_id conversation background truncation stream stream_options n".split()
)
_PARTS = ("input_text", "output_text", "text")


def as_chat(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request for a response as one for a chat completion; unknown fields go on as they are."""
    for name in ("previous_response_id", "conversation"):
        if body.get(name):
            raise bad("No conversation is kept here: send all of it as 'input'.", name)
    if body.get("background"):
        raise bad("Nothing is answered in the background here.", "background")
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


def _instructions(said: Any) -> list[dict[str, Any]]:
    if said is None:
        return []
    if not isinstance(said, str):
        raise bad("'instructions' is no text.", "instructions")
    return [{"role": "system", "content": said}]


def _input(given: Any) -> list[dict[str, Any]]:
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise bad("'input' is a text, or a list of items.", "input")
    return [_item(n, item) for n, item in enumerate(given)]


def _item(n: int, item: Any) -> dict[str, Any]:
    kind = item.get("type", "message") if isinstance(item, dict) else None
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind == "function_call_output":
        output = item.get("output")
        said = output if isinstance(output, str) else _content(n, output)
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": said}
    if kind == "message":
        return {"role": item.get("role"), "content": _content(n, item.get("content"))}
    raise bad(f"Item {n} of the input is none that can be read here.", f"input[{n}]")


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
        elif kind == "image_url":  # as chat completions have it
            parts.append(part)
        elif kind == "refusal":
            parts.append({"type": "text", "text": part.get("refusal")})
        else:
            raise bad(f"A part of item {n} is none that can be read here.", f"input[{n}].content")
    return parts


def _tool(n: int, tool: Any) -> dict[str, Any]:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        raise bad("Only tools of the type 'function' can be used here.", f"tools[{n}].type")
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


def as_response_object(
    body: Mapping[str, Any], model: str, choice: Choice, usage: Mapping[str, Any]
) -> dict[str, Any]:
    """A decided choice as a response."""
    cut = choice.finish == "length"
    return {
        "id": f"resp_{new_id()}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": model,
        "output": _output(choice),
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": None,
        "temperature": body.get("temperature"),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": body.get("top_p"),
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


def _output(choice: Choice) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    content: list[dict[str, Any]] = []
    if choice.content:
        said = {"type": "output_text", "text": choice.content, "annotations": [], "logprobs": []}
        content.append(said)
    if choice.refusal:
        content.append({"type": "refusal", "refusal": choice.refusal})
    if content:
        message = {"id": f"msg_{new_id()}", "type": "message", "role": "assistant"}
        items.append({**message, "status": "completed", "content": content})
    for call in _calls(choice.message.get("tool_calls")):
        function = call.get("function") or {}
        items.append(
            {
                "id": f"fc_{new_id()}",
                "type": "function_call",
                "call_id": call.get("id"),
                "name": function.get("name"),
                "arguments": function.get("arguments"),
                "status": "completed",
            }
        )
    return items


def _calls(calls: Any) -> Sequence[Mapping[str, Any]]:
    return [one for one in calls if isinstance(one, dict)] if isinstance(calls, list) else ()


def response_events(whole: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A decided response as the events of a stream, in the order that SDKs expect."""
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    told: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    for n, item in enumerate(whole["output"]):
        empty: dict[str, Any] = {"content": []} if "content" in item else {"arguments": ""}
        started = {**item, "status": "in_progress", **empty}
        told.append({"type": "response.output_item.added", "output_index": n, "item": started})
        told += _parts(n, item)
        told.append({"type": "response.output_item.done", "output_index": n, "item": item})
    last = "incomplete" if whole["status"] == "incomplete" else "completed"
    told.append({"type": f"response.{last}", "response": dict(whole)})
    for number, one in enumerate(told):
        yield {**one, "sequence_number": number}


def _parts(n: int, item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    at = {"item_id": item["id"], "output_index": n}
    if "arguments" in item:
        kind, said = "response.function_call_arguments", item["arguments"]
        yield {"type": f"{kind}.delta", **at, "delta": said}
        yield {"type": f"{kind}.done", **at, "arguments": said, "name": item["name"]}
        return
    for place, part in enumerate(item["content"]):
        where = {**at, "content_index": place}
        field = "text" if part["type"] == "output_text" else "refusal"
        kind = "response.output_text" if field == "text" else "response.refusal"
        more: dict[str, Any] = {"logprobs": []} if field == "text" else {}
        yield {"type": "response.content_part.added", **where, "part": {**part, field: ""}}
        yield {"type": f"{kind}.delta", **where, "delta": part[field], **more}
        yield {"type": f"{kind}.done", **where, field: part[field], **more}
        yield {"type": "response.content_part.done", **where, "part": part}
