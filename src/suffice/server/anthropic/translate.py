"""Translate Messages API requests into chat completion requests, so that both get the same
checks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from suffice.evidence.inputs import Given
from suffice.server.errors import bad
from suffice.server.openai.carried_evidence import evidence_of
from suffice.server.openai.request import OURS

_TEXT_ONLY = "Only documents with text are supported, not files."


def given_of(block: Mapping[str, Any], where: str) -> Given:
    """The passage in a `document` or `search_result` block."""
    source, title = block.get("source"), block.get("title")
    if block.get("type") == "search_result":
        content, name = block.get("content"), title or source
    elif isinstance(source, dict) and source.get("type") == "text":
        content, name = source.get("data"), title
    elif isinstance(source, dict) and source.get("type") == "content":
        content, name = source.get("content"), title
    else:
        raise bad(_TEXT_ONLY, where)
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, dict))
        content = "\n".join(text for text in texts if isinstance(text, str))
    if not isinstance(content, str):
        raise bad(_TEXT_ONLY, where)
    return {"text": content, "title": name if isinstance(name, str) else ""}


def as_text(given: Given) -> str:
    """The passage as text in `<document>` tags, so that it is not taken for the question."""
    if isinstance(given, str) or not isinstance(given, dict):
        return f"<document>\n{given}\n</document>"
    return f"<document title={quoteattr(str(given['title']))}>\n{given['text']}\n</document>"


Part = dict[str, Any]
# Fields that mean the same in chat completions. Others, such as `top_k`, have no counterpart.
_SAME = ("model", "temperature", "top_p", OURS)
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_THOUGHTS = ("thinking", "redacted_thinking")
_DOCUMENTS = ("document", "search_result")


def as_chat(body: Mapping[str, Any], *, grounded: bool = True) -> dict[str, Any]:
    """Translate a request body. If `grounded`, its documents become evidence; otherwise they stay
    in the conversation as text."""
    _checked(body)
    chat = {name: body[name] for name in _SAME if body.get(name) is not None}
    chat["max_tokens"] = int(body["max_tokens"])
    documents: list[Given] = []
    messages = [*_system(body.get("system"))]
    for n, message in enumerate(body["messages"]):
        messages += _translated(n, message, documents if grounded else None)
    chat["messages"] = messages
    if body.get("stop_sequences"):
        chat["stop"] = body["stop_sequences"]
    chat |= _tools(body)
    if user := _object(body.get("metadata")).get("user_id"):
        chat["user"] = user
    output_format = _object(_object(body.get("output_config")).get("format"))
    if output_format.get("type") == "json_schema":
        schema = {"name": "answer", "schema": output_format.get("schema")}
        chat["response_format"] = {"type": "json_schema", "json_schema": schema}
    if body.get("stream"):
        chat["stream_options"] = {"include_usage": True}
    if documents:
        ours = _object(body.get(OURS))
        named = ours.get("evidence")
        before = named if isinstance(named, list) else evidence_of(messages)
        chat[OURS] = {**ours, "evidence": [*before, *documents]}
    return chat


def _checked(body: Mapping[str, Any]) -> None:
    if not isinstance(body.get("stream"), bool | None):
        raise bad("'stream' must be true or false.", "stream")
    most = body.get("max_tokens")
    whole = isinstance(most, int) or (isinstance(most, float) and most.is_integer())
    if isinstance(most, bool | None) or not whole or most < 1:
        raise bad("'max_tokens' must be a whole number of at least 1.", "max_tokens")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise bad("'messages' must be a non-empty list of messages.", "messages")
    for n, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant"):
            raise bad(
                f"The role of message {n} must be 'user' or 'assistant'.", f"messages[{n}].role"
            )
        if not isinstance(message.get("content"), str | list):
            raise bad(
                f"The content of message {n} must be a string or a list of blocks.",
                f"messages[{n}].content",
            )


def _system(system: Any) -> list[Part]:
    if system is None:
        return []
    text = system if isinstance(system, str) else _texts(system, "system")
    return [{"role": "system", "content": text}] if text else []


def _translated(
    n: int, message: Mapping[str, Any], documents: list[Given] | None
) -> Sequence[Part]:
    """Translate one message. Each tool result becomes a separate chat message."""
    content, role = message["content"], message["role"]
    if isinstance(content, str):
        return [{"role": role, "content": content}]
    parts: list[Part] = []
    calls: list[Part] = []
    results: list[Part] = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        where = f"messages[{n}].content"
        if kind == "text":
            parts.append({"type": "text", "text": _text(block, where)})
        elif kind == "image":
            parts.append(_image(block, where))
        elif kind == "tool_use" and role == "assistant":
            arguments = json.dumps(block.get("input") or {}, ensure_ascii=False)
            function = {"name": block.get("name"), "arguments": arguments}
            calls.append({"id": block.get("id"), "type": "function", "function": function})
        elif kind == "tool_result":
            came = block.get("content")
            text = came if isinstance(came, str) else _texts(came or [], where)
            results.append(
                {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": text}
            )
        elif kind in _DOCUMENTS:
            given = given_of(block, where)
            if documents is None:
                parts.append({"type": "text", "text": as_text(given)})
            else:
                documents.append(given)
        elif kind not in _THOUGHTS:
            raise bad(f"Message {n} has a content block of an unsupported type.", where)
    plain: Any = parts
    if all(part["type"] == "text" for part in parts):
        plain = "\n".join(part["text"] for part in parts)
    if calls:
        return [{"role": role, "content": plain or None, "tool_calls": calls}]
    return [*results, *([{"role": role, "content": plain}] if plain or not results else [])]


def _image(block: Mapping[str, Any], where: str) -> Part:
    source = _object(block.get("source"))
    if source.get("type") == "url":
        url = source.get("url")
    elif source.get("type") == "base64":
        url = f"data:{source.get('media_type')};base64,{source.get('data')}"
    else:
        raise bad("The source of an image must be of type 'base64' or 'url'.", where)
    return {"type": "image_url", "image_url": {"url": url}}


def _tools(body: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    tools = body.get("tools")
    if isinstance(tools, list) and tools:
        fields["tools"] = [_tool(n, tool) for n, tool in enumerate(tools)]
    if (choice := body.get("tool_choice")) is not None:
        kind = _object(choice).get("type")
        if kind == "tool":
            fields["tool_choice"] = {"type": "function", "function": {"name": choice.get("name")}}
        elif kind in _CHOICES:
            fields["tool_choice"] = _CHOICES[kind]
        else:
            raise bad("'tool_choice.type' must be auto, any, tool or none.", "tool_choice")
        if choice.get("disable_parallel_tool_use"):
            fields["parallel_tool_calls"] = False
    return fields


def _tool(n: int, tool: Any) -> Part:
    if not isinstance(tool, dict) or tool.get("type") not in (None, "custom"):
        raise bad("Server tools are not supported; send client tools.", f"tools[{n}].type")
    function = {"name": tool.get("name"), "parameters": tool.get("input_schema")}
    if tool.get("description"):
        function["description"] = tool["description"]
    return {"type": "function", "function": function}


def _texts(blocks: Any, where: str) -> str:
    if not isinstance(blocks, list):
        raise bad(f"'{where}' must be a string or a list of text blocks.", where)
    return "\n".join(_text(block, where) for block in blocks)


def _text(block: Any, where: str) -> str:
    text = block.get("text") if isinstance(block, dict) else None
    if not isinstance(text, str):
        raise bad(f"A block of '{where}' has no text.", where)
    return text


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
