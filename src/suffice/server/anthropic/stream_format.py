"""The stream format of `/v1/messages`: Anthropic's events in the order that SDKs expect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from suffice.models.chat import text_in
from suffice.server.anthropic.errors import PING, error_body
from suffice.server.anthropic.message import (
    calls_of,
    framed,
    ours_of,
    stop_reason,
    tool_use,
    usage_of,
)
from suffice.server.errors import ApiError
from suffice.server.json_body import encode, event
from suffice.server.openai.answering import Answered
from suffice.server.openai.completion import Choice

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
        yield from self._start(usage_of(answered.usage), ours_of(choice))
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
        yield _event("message_delta", delta=delta, usage=usage_of(spent), **ours)
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
