"""The format of `/v1/responses`: a response object, or events in the order that SDKs expect."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from suffice.log.record import new_id
from suffice.server.errors import KEEP_ALIVE, ApiError, event
from suffice.server.openai.completion import Answer, ReleasedChoice, calls_of, sufficiency_of
from suffice.server.openai.reply import usage_of

Item = dict[str, Any]
_CUT = {"length": "max_output_tokens", "content_filter": "content_filter"}


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


def settled(
    output: Sequence[Item], choice: ReleasedChoice, usage: Mapping[str, Any]
) -> dict[str, Any]:
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


def items_of(choice: ReleasedChoice) -> list[Item]:
    """The output items of a choice: a message, tool calls, or both."""
    parts = [text_part(choice.content)] if choice.content else []
    parts += [refusal_part(choice.refusal)] if choice.refusal else []
    items = [message_item(parts)] if parts else []
    return items + [call_item(call) for call in calls_of(choice.message)]


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


def as_completion(response: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an upstream's response object to a chat completion, so that it can be checked."""
    output = response.get("output")
    items = [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
    called = any(str(item.get("type")).endswith("_call") for item in items)
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


Raw = Mapping[str, Any]
_FIELDS = {"output_text": "text", "refusal": "refusal"}


@dataclass(slots=True)
class ResponsesFormat:
    """A response object or its events. Findings are sent in `response.in_progress` events, because
    SDKs pass these on with all their fields."""

    body: Raw
    model: str
    named: bool = False
    """Send findings as events with their own type."""
    keep_alive: bytes = KEEP_ALIVE
    _frame: dict[str, Any] = field(default_factory=dict)
    _items: list[Item] = field(default_factory=list)
    _calls: dict[int, int] = field(default_factory=dict)
    """The output index of each upstream tool call."""
    _choice: ReleasedChoice | None = None
    _number: int = 0

    def whole(self, answer: Answer) -> Raw:
        choice = answer.choices[0]
        ended = settled(items_of(choice), choice, answer.usage)
        return {**framed(self.body, self.model), **ended}

    def whole_events(self, answer: Answer) -> Iterator[bytes]:
        choice = answer.choices[0]
        if choice.content:
            yield from self._text(choice.content)
        if choice.refusal:
            yield from self._part(refusal_part(choice.refusal))
        for n, call in enumerate(calls_of(choice.message)):
            yield from self._call(n, {**call, "index": n})
        self._choice = choice
        yield from self.on_stream_end(answer.usage)

    def on_chunk(self, chunk: Raw, parts: Sequence[Raw]) -> Iterator[bytes]:
        for part in parts:
            delta = part["delta"]
            if text := delta.get("content"):
                yield from self._text(text)
            for n, call in enumerate(calls_of(delta)):
                yield from self._call(n, call)

    def on_finding(self, index: int, kind: str, finding: Raw) -> Iterator[bytes]:
        if self.named:
            yield self._event(f"suffice.{kind}", suffice={kind: finding})
        else:
            frame = {**self._frame, "output": []}
            yield self._event("response.in_progress", response=frame, suffice={kind: finding})

    def on_choice_end(self, index: int, text: str, choice: ReleasedChoice) -> Iterator[bytes]:
        if text:
            yield from self._text(text)
        self._choice = choice

    def on_stream_end(self, usage: Raw) -> Iterator[bytes]:
        assert self._choice is not None
        yield from self._begun()
        for n, item in enumerate(self._items):
            yield from self._done(n, item)
        ended = settled(self._items, self._choice, usage_of({"usage": usage}))
        yield self._event(f"response.{ended['status']}", response={**self._frame, **ended})

    def on_error(self, fault: ApiError) -> bytes:
        error = fault.body["error"]
        fields = {key: error[key] for key in ("message", "code", "param")}
        return self._event("error", **fields, **fault.body)

    def passthrough(self, reply: Raw) -> Raw:
        return reply

    def passthrough_chunk(self, chunk: Raw) -> Iterator[bytes]:
        yield event(chunk, str(chunk.get("type") or ""))

    def passthrough_end(self, usage: Raw) -> Iterator[bytes]:
        yield from ()  # the upstream sends the final event itself

    def _begun(self) -> Iterator[bytes]:
        if not self._frame:
            self._frame = framed(self.body, self.model)
            for kind in ("response.created", "response.in_progress"):
                yield self._event(kind, response=self._frame)

    def _text(self, text: str) -> Iterator[bytes]:
        yield from self._part(text_part(text))

    def _part(self, part: Item) -> Iterator[bytes]:
        """Extend the message: continue its last part or add a new part."""
        yield from self._begun()
        n = next((n for n, item in enumerate(self._items) if item["type"] == "message"), None)
        if n is None:
            n = len(self._items)
            self._items.append(message_item())
            yield from self._added(n, content=[])
        parts, name = self._items[n]["content"], _FIELDS[part["type"]]
        if not parts or parts[-1]["type"] != part["type"]:
            parts.append({**part, name: ""})
            yield self._at(n, "response.content_part.added", part=parts[-1])
        parts[-1][name] += part[name]
        kind = f"response.{part['type']}.delta"
        yield self._at(n, kind, delta=part[name], **_more(part))

    def _call(self, position: int, call: Raw) -> Iterator[bytes]:
        """Extend a tool call; its first chunk has its name."""
        yield from self._begun()
        index = call.get("index")
        key = index if isinstance(index, int) else position
        new = call_item(call)
        if key not in self._calls:
            self._calls[key] = len(self._items)
            self._items.append({**new, "arguments": ""})
            yield from self._added(self._calls[key])
        n = self._calls[key]
        if arguments := new["arguments"]:
            self._items[n]["arguments"] += arguments
            at = {"item_id": self._items[n]["id"], "output_index": n}
            yield self._event("response.function_call_arguments.delta", **at, delta=arguments)

    def _added(self, n: int, **empty: Any) -> Iterator[bytes]:
        item = {**self._items[n], "status": "in_progress", **empty}
        yield self._event("response.output_item.added", output_index=n, item=item)

    def _done(self, n: int, item: Item) -> Iterator[bytes]:
        for position, part in enumerate(item.get("content", ())):
            name = _FIELDS[part["type"]]
            kind = f"response.{part['type']}.done"
            yield self._at(n, kind, position, **{name: part[name]}, **_more(part))
            yield self._at(n, "response.content_part.done", position, part=part)
        if "arguments" in item:
            at = {"item_id": item["id"], "output_index": n}
            call = {"arguments": item["arguments"], "name": item["name"]}
            yield self._event("response.function_call_arguments.done", **at, **call)
        yield self._event("response.output_item.done", output_index=n, item=item)

    def _at(self, n: int, kind: str, position: int | None = None, **more: Any) -> bytes:
        """An event for one part of a message, by default the last."""
        item = self._items[n]
        position = len(item["content"]) - 1 if position is None else position
        at = {"item_id": item["id"], "output_index": n, "content_index": position}
        return self._event(kind, **at, **more)

    def _event(self, kind: str, **more: Any) -> bytes:
        self._number += 1
        return event({"type": kind, **more, "sequence_number": self._number - 1}, kind)


def _more(part: Raw) -> dict[str, Any]:
    return {"logprobs": []} if part["type"] == "output_text" else {}
