"""OpenAI's Responses API in the words of chat completions: one way through the house for both, so
that what protects the one protects the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.server.errors import bad

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
    found: list[dict[str, Any]] = []
    for message in (_item(n, item) for n, item in enumerate(given)):
        calls, before = message.get("tool_calls"), found[-1] if found else {}
        if calls and before.get("tool_calls"):  # calls of one turn stand in one message
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
